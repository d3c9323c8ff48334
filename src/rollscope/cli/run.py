"""Record any program that logs to W&B, TensorBoard, Trackio, SwanLab or MLflow, unchanged.

Records the calls that the program makes to those libraries, whether they are installed or not.
Calls still reach a library that is installed and configured. Records also the program's output, its
exit code, and the machine's load. Processes started by torchrun, accelerate and Ray are recorded
too.

With --dumps the rollouts that the program writes to a folder go to the same run while it trains, in
any format that `rollscope import` knows: slime, miles, NeMo-RL, ROLL, rLLM, AReaL, SkyRL, prime-rl,
tinker-cookbook, ms-swift, ART, ... Files that were there before are left out unless they change.

example: rollscope run -- python train.py --lr 1e-6
example: rollscope run --dumps out/dump -- python train.py --dump-details out/dump
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING

import rollscope
from rollscope.errors import BadInput
from rollscope.store.log.secret import hide_arguments

from ._dumps import Dumps
from ._program_name import program_name
from ._signals import Signals
from ._terminal import print_json, say

if TYPE_CHECKING:
    from rollscope.record.run import Run

LINES = 100_000  # recorded lines of each output stream; later lines are dropped


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="name of the run (default: name of the script or module)")
    parser.add_argument("--project", default=None, help="project of the run")
    parser.add_argument(
        "--dumps", action="append", default=[], metavar="PATH", help="rollouts that the program writes; may be repeated"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD", help="the program and its arguments")


def run(args: argparse.Namespace) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise BadInput("nothing to run. Write the program after two dashes: rollscope run -- python train.py")
    recorded = rollscope.init(project=args.project, name=args.name or program_name(command), dir=args.dir, config=None)
    dumps = Dumps(recorded, [Path(path) for path in args.dumps])
    try:
        code, last = _run(command, recorded)
    except OSError as error:
        recorded.finish("crashed", f"{command[0]} could not be started: {error.strerror}")
        raise BadInput(f"{command[0]!r} could not be started: {error.strerror}") from error
    finally:
        dumps.close()
    recorded.finish("finished" if code == 0 else "crashed", None if code == 0 else _reason(code, last))
    if args.json:
        print_json({"run": recorded.id, "exit_code": code}, indent=None)
    else:
        next_command = f"rollscope show {recorded.id} --dir {args.dir}"
        say(f"rollscope: recorded as {recorded.id}; see it with: {next_command}", sys.stderr)
    return code if code >= 0 else 128 - code


def _reason(code: int, last: signal.Signals | None) -> str:
    """Why the program failed, and the last signal that it was sent: it may have handled it."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}" if last is None else f"exit code {code}, after {last.name}"


def environment(recorded: Run) -> dict[str, str]:
    """The child's environment: loads our `sitecustomize`, names the run to record into."""
    home = Path(rollscope.__file__).parents[1]
    site = home / "rollscope" / "sources" / "capture" / "site"
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "ROLLSCOPE_HOME": str(home),
        "ROLLSCOPE_DIR": str(recorded.folder.parent),
        "ROLLSCOPE_RUN_ID": recorded.id,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": os.environ.get("PYTHONUNBUFFERED", "1"),
    }


def _run(command: list[str], recorded: Run) -> tuple[int, signal.Signals | None]:
    """Run the program, record its output, hand signals on to it.

    Returns its exit code and the last signal.
    """
    recorded.note(f"began {shlex.join(hide_arguments(command))}", kind="output")
    child = subprocess.Popen(command, env=environment(recorded), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    signals = Signals(child)
    with signals.handed_on():
        pumps = [
            _pump(child.stdout, sys.stdout.buffer, recorded, "stdout"),
            _pump(child.stderr, sys.stderr.buffer, recorded, "stderr"),
        ]
        code = child.wait()
        for pump in pumps:
            pump.join(timeout=5)  # a daemon started by the program may keep the pipe open
        return code, signals.last


def _pump(source: IO[bytes] | None, out: IO[bytes], recorded: Run, stream: str) -> threading.Thread:
    """Start a thread that copies the program's output to ours and records each line as a note."""
    assert source is not None

    def pump() -> None:
        lines = 0
        for line in iter(source.readline, b""):
            with contextlib.suppress(OSError):  # a closed terminal, `| head`: the program and the run go on
                out.write(line)
                out.flush()
            last_state = line.rstrip(b"\r\n").rpartition(b"\r")[2]  # a progress bar redraws one line
            text = last_state.decode("utf-8", "replace")
            lines += bool(text)
            if text and lines <= LINES:
                recorded.note(text, kind="output", stream=stream)
            elif lines == LINES + 1:
                recorded.note(f"more than {LINES} lines of {stream}: the rest is not kept", kind="loss")

    thread = threading.Thread(target=pump, name=f"rollscope-{stream}", daemon=True)
    thread.start()
    return thread
