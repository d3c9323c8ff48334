"""Bring runs back from the bin or from the archive. Without a run, list what is in the bin.

rollscope restore
rollscope restore grpo-1 grpo-2
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import rollscope
from rollscope.store.project import deleted
from rollscope.store.project.deleted import Deleted
from rollscope.store.project.log import Change
from rollscope.store.store import Store

from ._chosen import fits, runs_in_words
from ._numbers import local_time
from ._terminal import in_line, print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("targets", metavar="RUN", nargs="*", help="run ids, or patterns such as 'sweep-*'")


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    store.check_writable()
    if not args.targets:
        _list(deleted.deleted(store.project), args.json)
        return 0
    ids = _restore(store, args.targets)
    print_json({"restored": ids}) if args.json else say(f"Restored {runs_in_words(ids)}.")
    return 0


def _restore(store: Store, words: Sequence[str]) -> list[str]:
    """Bring back the runs these words name, from the archive or from the bin."""
    archived = [id for id, said in store.marks().items() if said.archived]
    binned = [run.id for run in deleted.deleted(store.project)]
    ids: list[str] = []
    for word in words:
        ids += [id for id in dict.fromkeys([*archived, *binned]) if fits(word, [id])] or [word]
    ids = list(dict.fromkeys(ids))
    deleted.restore(store.project, [id for id in ids if id in binned or id not in archived])
    if back := [Change("archive", id, None) for id in ids if id in archived]:
        store.project.append_all(back)
    return ids


def _list(runs: list[Deleted], as_json: bool) -> None:
    if as_json:
        print_json([run.shape() for run in runs])
    elif not runs:
        say("The bin is empty.")
    for run in [] if as_json else runs:
        say(f"{in_line(run.id)}  deleted {local_time(run.time_ns)}{f' by {in_line(run.author)}' if run.author else ''}")
