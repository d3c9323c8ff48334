"""Train for about three minutes and watch it: GRPO with tools, then four short runs of other kinds.

rollscope demo
rollscope demo --no-serve
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from importlib import resources

from rollscope import isolated
from rollscope.errors import RollscopeError

from . import commands
from ._arguments import seconds
from ._terminal import print_json, say
from ._training import train

MAIN = "shop"
RUNS = {  # configuration -> description
    MAIN: "GRPO on two environments: ask tools for prices over several turns, and make a target from numbers",
    "ppo": "PPO with a critic on text: sort letters, with a KL penalty in the reward",
    "reach": "PPO with a critic on Gymnasium: move a point onto a goal",
    "preference": "DPO on pairs of the policy's own countdown answers",
    "judge": "a reward model on such pairs",
}
SHORT = 12.0  # most seconds of a run that is not the main one, when --seconds is given


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-serve", action="store_true", help="train without a dashboard, then exit")
    parser.add_argument("--port", type=int, default=8420, help="port of the dashboard (default 8420)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--seconds", type=seconds, help="most seconds of reinforcement learning in the main run (default 70)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a key of the main run, such as failure.name=entropy_collapse",
    )


def run(args: argparse.Namespace) -> int:
    # Exit by an exception on SIGTERM, so that the dashboard ends, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    dashboard = None if args.no_serve else serve(args)
    try:
        ids = _train_all(args)
        if args.json:
            print_json({"runs": ids, "dir": str(args.dir)}, indent=None)
        else:
            say(f"recorded {', '.join(ids)} in {args.dir}")
        if dashboard is not None:
            print("the dashboard runs until Ctrl-C", file=sys.stderr)
            dashboard.wait()
    except KeyboardInterrupt:
        return 130
    finally:
        if dashboard is not None:
            dashboard.terminate()
            dashboard.wait(10)
    return 0


def _train_all(args: argparse.Namespace) -> list[str]:
    """Train the runs one after another and return their ids."""
    from rollscope.trainer import config

    ids: list[str] = []
    for i, (name, description) in enumerate(RUNS.items(), start=1):
        print(f"{i}/{len(RUNS)}  {description}", file=sys.stderr)
        with resources.as_file(resources.files("rollscope.trainer") / "configs" / f"{name}.toml") as path:
            ids.append(train(config.read(path, _changes(args, name)), args.dir, quiet=args.json))
    return ids


def _changes(args: argparse.Namespace, name: str) -> list[str]:
    changes = args.set if name == MAIN else []
    if args.seconds is None:
        return list(changes)
    return [*changes, f"run.seconds={args.seconds if name == MAIN else min(args.seconds, SHORT)}"]


def serve(args: argparse.Namespace) -> subprocess.Popen[bytes] | None:
    """Start the dashboard in a process of its own: a training process imports no server."""
    if "serve" not in commands():
        print("this build has no dashboard; training continues without it", file=sys.stderr)
        return None
    words = ["serve", "--dir", str(args.dir), "--port", str(args.port), *(["--no-browser"] if args.no_browser else [])]
    process = subprocess.Popen(isolated.command("rollscope", *words), env=isolated.environment())
    try:
        time.sleep(0.5)  # time to fail on a taken port, so that the error comes before training starts
    except BaseException:
        process.terminate()
        raise
    if process.poll() is not None:
        raise RollscopeError(
            f"the dashboard did not start on port {args.port} (exit code {process.returncode})."
            f" Try --port {args.port + 1}, or --no-serve"
        )
    return process
