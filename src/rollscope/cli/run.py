"""Record any program that logs to W&B, TensorBoard, Trackio, SwanLab or MLflow, with no change to it.

What the program tells those libraries is recorded, whether they are installed or not, and still reaches them where they are configured. Its
output, how it ended, and what the machine did meanwhile are recorded too; torchrun, accelerate and Ray start processes that are recorded alike.

example: rollscope run -- python train.py --lr 1e-6
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

import rollscope
from rollscope.errors import BadInput

LINES = 100_000  # of output that are kept


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="name of the run (default: the program's)")
    parser.add_argument("--project", default=None, help="project of the run")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help="the program and its arguments")


def run(args: argparse.Namespace) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise BadInput("nothing to run. Write the program after two dashes: rollscope run -- python train.py")
    recorded = rollscope.init(project=args.project, name=args.name or _name(command), dir=args.dir, config=None)
    try:
        code = _run(command, recorded)
    except OSError as error:
        recorded.finish("crashed", f"{command[0]} could not be started: {error.strerror}")
        raise BadInput(f"{command[0]!r} could not be started: {error.strerror}") from error
    recorded.finish("finished" if code == 0 else "crashed", None if code == 0 else _ended(code))
    if args.json:
        print(json.dumps({"run": recorded.id, "exit_code": code}))
    else:
        print(
            f"rollscope: recorded as {recorded.id}; see it with: rollscope show {recorded.id} --dir {args.dir}",
            file=sys.stderr,
        )
    return code if code >= 0 else 128 - code


def _name(command: list[str]) -> str:
    """`train` for `python -m pkg.train` as for `torchrun train.py`."""
    script = next((word for word in command if word.endswith(".py")), None)
    module = command[command.index("-m") + 1] if "-m" in command[:-1] else None
    return Path(script).stem if script else module.rpartition(".")[2] if module else Path(command[0]).name


def _ended(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"


def environment(recorded: Any) -> dict[str, str]:
    """What a child needs to be recorded: the listener before its own start-up, and which run it belongs to."""
    home = Path(rollscope.__file__).parents[1]
    site = home / "rollscope" / "sources" / "capture" / "site"
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    told = {"ROLLSCOPE_HOME": str(home), "ROLLSCOPE_DIR": str(recorded.folder.parent), "ROLLSCOPE_RUN_ID": recorded.id}
    return {
        **os.environ,
        **told,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": os.environ.get("PYTHONUNBUFFERED", "1"),
    }


def _run(command: list[str], recorded: Any) -> int:
    recorded.note(f"began {shlex.join(command)}", kind="output")
    child = subprocess.Popen(command, env=environment(recorded), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    previous = {
        number: signal.signal(number, lambda n, _: _pass_on(child, n)) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        pumps = [
            _pump(child.stdout, sys.stdout.buffer, recorded, "stdout"),
            _pump(child.stderr, sys.stderr.buffer, recorded, "stderr"),
        ]
        code = child.wait()
        for pump in pumps:
            pump.join(timeout=5)  # a daemon the program left behind may keep its end open
        return code
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _pass_on(child: subprocess.Popen[bytes], number: int) -> None:
    """A signal that was sent to us is the program's. Ctrl-C it has had from the terminal already: a second one would break into its cleaning up."""
    if number != signal.SIGINT or not _in_front():
        child.send_signal(number)


def _in_front() -> bool:
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except (OSError, ValueError):  # not a terminal
        return False


def _pump(source: IO[bytes] | None, out: IO[bytes], recorded: Any, stream: str) -> threading.Thread:
    assert source is not None

    def pump() -> None:
        kept = 0
        for line in iter(source.readline, b""):
            out.write(line)
            out.flush()
            text = (
                line.rstrip(b"\r\n").rpartition(b"\r")[2].decode("utf-8", "replace")
            )  # of a progress bar, its last state
            kept += bool(text)
            if text and kept <= LINES:
                recorded.note(text, kind="output", stream=stream)
            elif kept == LINES + 1:
                recorded.note(f"more than {LINES} lines of {stream}: the rest is not kept", kind="loss")

    thread = threading.Thread(target=pump, name=f"rollscope-{stream}", daemon=True)
    thread.start()
    return thread
