"""Give a run another name. Its id and its folder stay.

rollscope rename grpo-1 "GRPO, no KL"
rollscope rename grpo-1
"""

from __future__ import annotations

import argparse

import rollscope

from ._terminal import print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name")
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="the new name; without it, the one it was recorded with"
    )


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    id = store.run(args.target).id
    entry = store.project.append("rename", id, args.name)
    if args.json:
        print_json(entry.shape())
    else:
        say(
            f"The run {id!r} is called {args.name!r} now." if args.name else f"The run {id!r} has its first name again."
        )
    return 0
