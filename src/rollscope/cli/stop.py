"""Ask a running training to stop at its next step, after a checkpoint.

TRL's and veRL's trainers, `rollscope train`, and loops that call `run.should_stop()` do so. Any
other run cannot hear, and the command says so.

rollscope stop grpo-1
rollscope stop grpo-1 --why "entropy is gone, see step 212"
"""

from __future__ import annotations

import argparse

from rollscope.notify.stop import ask, requested
from rollscope.store.notes import author

from ._terminal import in_line, print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name")
    parser.add_argument("--why", default="no reason given", help="the reason, kept as a note in the run")


def run(args: argparse.Namespace) -> int:
    import rollscope

    store = rollscope.open(args.dir)
    store.check_writable()
    reader = store.run(args.target)
    before = requested(reader)
    request = ask(reader, args.why, author(), reader.last_step)
    if args.json:
        print_json({"run": reader.id, "attempt": request.attempt, "why": request.why, "by": request.by})
    elif before is not None:
        print(in_line(f"{request.by} has already asked {reader.id} to stop: {request.why}"))
    else:
        print(f"{reader.id} stops at its next step, after a checkpoint. `rollscope watch {reader.id}` shows it.")
    return 0
