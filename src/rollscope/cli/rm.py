"""Delete runs. They go to the bin, from which `rollscope restore` brings them back.

rollscope rm grpo-1 'sweep-*'
rollscope rm --for-good grpo-1
"""

from __future__ import annotations

import argparse
import contextlib

import rollscope
from rollscope.store.project import deleted

from ._chosen import chosen, runs_in_words
from ._terminal import print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="RUN", nargs="+", help="run ids or names, or patterns such as 'sweep-*'")
    parser.add_argument("--for-good", action="store_true", help="remove runs that are in the bin from the disk")


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    store.check_writable()
    if args.for_good:
        ids = args.targets
        deleted.remove(store.project, ids)
    else:
        ids = chosen(store, args.targets)
        deleted.delete(store.project, ids, lambda id: contextlib.nullcontext(store.read(id)))
    if args.json:
        print_json({"deleted": ids, "for_good": args.for_good})
    else:
        back = "" if args.for_good else " Bring back with: rollscope restore RUN"
        say(f"{'Removed' if args.for_good else 'Deleted'} {runs_in_words(ids)}.{back}")
    return 0
