"""Every listed key of the frameworks resolves to an entry, and every such entry is complete.

The list covers evaluation, time, the machine and the frameworks' less common trainers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import rollscope as rs
from rollscope.catalog.partials.partial import KINDS
from rollscope.catalog.spec import METRICS, Metric

from .not_matched import listed

LISTED = [
    (words[0], key)
    for line in (Path(__file__).parent / "data" / "listed_names.txt").read_text().splitlines()
    if line and not line.startswith("#")
    for words in [line.split()]
    for key in words[1:]
]
import rollscope.catalog.families  # noqa: E402

SECTIONS = (
    *("preference", "reward_model", "sft", "eval", "bench", "val-core", "val-aux", "env", "balance", "time"),
    *("time_per_token", "perf", "host", "engine", "moe", "async", "batch", "distillation", "replay"),
    *("offpolicy", "value_model", "training"),
)
ENTRIES = [m for m in METRICS.values() if m.section in SECTIONS]
TABLES = [
    (dialect, key, why) for dialect, table in vars(listed).items() if dialect.isupper() for key, why in table.items()
]


@pytest.mark.parametrize("dialect", sorted({d for d, _ in LISTED}))
def test_every_key_of_a_dialect_resolves(dialect: str) -> None:
    for d, key in LISTED:
        if d == dialect:
            assert rs.explain(key, dialect).entry.name in METRICS, key


def test_every_entry_is_complete() -> None:
    for m in ENTRIES:
        assert m.meaning.endswith((".", ":", "?")), m.name
        assert m.definition and m.read and m.check and m.unit and m.example and m.needs, m.name
        assert m.kind in KINDS or m.kind == "distribution", (m.name, m.kind)


def test_a_name_of_another_quantity_has_a_note() -> None:
    assert [(m.name, n.key) for m in ENTRIES for n in m.names if not n.same and not n.note] == []


def test_no_two_entries_have_the_same_meaning() -> None:
    meanings: dict[str, Metric] = {}
    for m in ENTRIES:
        if m.section not in ("bench", "val-core", "val-aux"):  # the numbers of eval
            assert m.meaning not in meanings, (m.name, meanings.get(m.meaning))
            meanings[m.meaning] = m


@pytest.mark.parametrize(("dialect", "key", "why"), TABLES, ids=lambda x: str(x)[:40])
def test_keys_that_are_not_matched_have_a_note(dialect: str, key: str, why: str) -> None:
    assert why
    match = rs.explain(key.partition(" ")[0], dialect.lower().replace("_", ":", 1))
    assert not match.same or (match.via is not None and match.via.note), key
