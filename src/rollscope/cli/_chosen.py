"""Runs that a command is told: ids, names, or patterns such as 'sweep-*'."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from rollscope.errors import NotFound
from rollscope.store.store import Store


def chosen(store: Store, words: Sequence[str]) -> list[str]:
    """The ids of the runs that these words name, each once, in the order of the words."""
    ids: dict[str, None] = {}
    for word in words:
        found = _fitting(store, word) if any(sign in word for sign in "*?[") else [store.run(word).id]
        ids.update(dict.fromkeys(found))
    return list(ids)


def _fitting(store: Store, pattern: str) -> list[str]:
    records = store.newest()
    found = [run["id"] for run in records if fits(pattern, (run["id"], run["name"] or ""))]
    if not found:
        raise NotFound(f"no run fits {pattern!r} among {len(records):,} here. List them all: rollscope ls")
    return found


def fits(pattern: str, texts: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for text in texts)


def runs_in_words(ids: Sequence[str]) -> str:
    """`the run 'a'`, or `12 runs`."""
    return f"the run {ids[0]!r}" if len(ids) == 1 else f"{len(ids):,} runs"
