"""Train for real for about two minutes and watch it: GRPO on countdown, then two short runs to compare with.

rollscope demo
rollscope demo --no-serve
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from importlib import resources

from rollscope.errors import RollscopeError

from . import commands
from ._arguments import seconds
from .train import train

RUNS = {  # configuration -> what it is
    "countdown": "GRPO on countdown, with a worker process ahead of the trainer: make the target from the numbers",
    "reach": "PPO with a critic on Gymnasium: move a point onto a goal",
    "preference": "DPO on pairs of the policy's own countdown answers",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-serve", action="store_true", help="train and end; no dashboard")
    parser.add_argument("--port", type=int, default=8420, help="port of the dashboard (default 8420)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--seconds", type=seconds, help="most seconds of reinforcement learning in the main run (default 75)"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a key of the main run, such as failure.name=entropy_collapse",
    )


def run(args: argparse.Namespace) -> int:
    from rollscope.trainer import config

    dashboard = None if args.no_serve else serve(args)
    made: list[str] = []
    try:
        for number, (name, what) in enumerate(RUNS.items(), start=1):
            print(f"{number}/{len(RUNS)}  {what}", file=sys.stderr)
            changes = args.set if name == "countdown" else []
            if args.seconds is not None:
                changes = [*changes, f"run.seconds={min(args.seconds, 15.0) if name != 'countdown' else args.seconds}"]
            with resources.as_file(resources.files("rollscope.trainer") / "configs" / f"{name}.toml") as path:
                made.append(train(config.read(path, changes), args.dir, quiet=args.json))
        print(
            json.dumps({"runs": made, "dir": str(args.dir)})
            if args.json
            else f"recorded {', '.join(made)} in {args.dir}"
        )
        if dashboard is not None:
            print("the dashboard stays up until Ctrl-C", file=sys.stderr)
            dashboard.wait()
    except KeyboardInterrupt:
        return 130
    finally:
        if dashboard is not None:
            dashboard.terminate()
            dashboard.wait(10)
    return 0


def serve(args: argparse.Namespace) -> subprocess.Popen[bytes] | None:
    """The dashboard as a process of its own: a training process imports no server."""
    if "serve" not in commands():
        print("this build has no dashboard; training goes on without it", file=sys.stderr)
        return None
    command = [sys.executable, "-m", "rollscope", "serve", "--dir", str(args.dir), "--port", str(args.port)]
    process = subprocess.Popen(command + (["--no-browser"] if args.no_browser else []))
    time.sleep(0.5)  # a port that is taken is said before training starts, not after
    if process.poll() is not None:
        raise RollscopeError(
            f"the dashboard did not start on port {args.port} (exit code {process.returncode}). Try --port {args.port + 1}, or --no-serve"
        )
    return process
