"""The checks that rows of the tables name. A check is given the recorded runs and asserts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.catalog.guidance import SCENARIOS, SYMPTOMS
from rollscope.catalog.names.resolve import resolve
from rollscope.catalog.spec import METRICS, split

from .conftest import Recorded

DOCS = Path(__file__).parents[2] / "docs"
Check = Callable[[Recorded], None]


def value(dialect: str, *names: str) -> Check:
    """Each name has a finite value in a recorded run, under the framework's own name and unit."""

    def check(recorded: Recorded) -> None:
        written = recorded.renamed(dialect)
        assert [name for name in names if name not in written] == []

    return check


def ours(*names: str) -> Check:
    """Each of our names has a finite value in a recorded run."""

    def check(recorded: Recorded) -> None:
        assert [name for name in names if name not in recorded.finite] == []

    return check


def differs(dialect: str, name: str, page: str = "") -> Check:
    """The framework's number is another quantity: the note says how, and a page of docs/ has it.

    Our number of that meaning is recorded.
    """

    def check(recorded: Recorded) -> None:
        match = resolve(name, dialect)
        assert match.via is not None and not match.via.same and match.via.note
        home = page or f"metrics/{match.entry.name.split('/')[0]}.md"
        assert plain(match.via.note) in plain((DOCS / home).read_text())
        entry = match.entry
        assert any(known == entry.name or _is_of(known, entry.name) for known in recorded.finite), entry.name

    return check


def _is_of(name: str, entry: str) -> bool:
    """Whether a name is one of an entry's, in any scope and statistic."""
    pattern = re.sub(r"\\\{[^}]*\\\}", r"[^/]+", re.escape(entry))
    return re.fullmatch(rf"(discarded/)?{pattern}(/(generated|trained))?(/\w+)?", name) is not None


def corrected(says: str) -> Check:
    """The guide is contradicted by the framework's code: the page of names says so."""

    def check(recorded: Recorded) -> None:
        text = (DOCS / "names.md").read_text().partition("## Where the guides and the code differ")[2]
        assert plain(says) in plain(text)

    return check


def plain(text: str) -> str:
    return re.sub(r"[\s`\\]+", " ", text).strip()


def in_unit(unit: str, dialect: str, *names: str) -> Check:
    """A run asked for each name in this dialect answers in this unit."""

    def check(recorded: Recorded) -> None:
        found = {
            name: {one.unit for run in recorded.runs.values() for one in run.find_all(name, dialect)} for name in names
        }
        assert found == {name: {unit} for name in names}

    return check


def times(run: str, name: str, factor: float, other: str) -> Check:
    """At every step of a run, one series is so many times another."""

    def check(recorded: Recorded) -> None:
        reader = recorded.runs[run]
        one, two = (reader.series_of(reader.find(wanted)) for wanted in (name, other))
        assert one["step"].tolist() == two["step"].tolist() and len(one["step"])
        assert one["value"] == pytest.approx(two["value"] * factor, rel=1e-4, abs=1e-7, nan_ok=True)

    return check


def within(run: str, name: str, low: float, high: float) -> Check:
    """Every value of a series lies in a range."""

    def check(recorded: Recorded) -> None:
        values = recorded.runs[run].series_of(recorded.runs[run].find(name))["value"]
        assert len(values) and np.all((values >= low) & (values <= high)), values

    return check


def says(name: str, *words: str, dialect: str | None = None) -> Check:
    """The entry of a name mentions these words."""

    def check(recorded: Recorded) -> None:
        entry = resolve(name, dialect).entry
        alarms = " ".join(f"{alarm.condition} {alarm.says}" for alarm in entry.alarms)
        text = " ".join([entry.meaning, entry.definition, entry.read, *entry.check, alarms]).lower()
        assert [word for word in words if word.lower() not in text] == [], text

    return check


def alarm(name: str, when: str, level: float) -> Check:
    """The entry has this alarm."""

    def check(recorded: Recorded) -> None:
        found = [(one.when, one.level) for one in resolve(name).entry.alarms]
        assert (when, level) in found, found

    return check


def computes(name: str, batch: Mapping[str, Any], expected: float) -> Check:
    """`rs.compute` gives this number."""

    def check(recorded: Recorded) -> None:
        given = {key: np.asarray(x) if isinstance(x, list) and key not in LABELS else x for key, x in batch.items()}
        assert rs.compute(given)[name].value == pytest.approx(expected, nan_ok=True)

    return check


LABELS = ("group", "task", "env", "stop_reason", "discard_reason", "operators", "seconds")


def evaluates(rows: Any, expected: Mapping[str, float], detailed: bool = False, prefix: str = "eval") -> Check:
    """`rs.evaluate` gives these numbers, to two digits as guides print them."""

    def check(recorded: Recorded) -> None:
        got = rs.evaluate(rows, "dummy", prefix=prefix, detailed=detailed)
        for name, number in expected.items():
            assert got[name].value == pytest.approx(number, abs=0.006), name

    return check


def sectioned(name: str, section: str, group: str, metric: str) -> Check:
    def check(recorded: Recorded) -> None:
        assert split(name) == (section, group, metric)

    return check


def declared(env: str, key: str, expected: Any) -> Check:
    """The GRPO run declared this fact of an environment."""

    def check(recorded: Recorded) -> None:
        assert recorded.runs["grpo"].declared["environments"][env][key] == expected

    return check


def page(name: str, *words: str) -> Check:
    """A page of docs/ has these words."""

    def check(recorded: Recorded) -> None:
        text = plain((DOCS / name).read_text())
        assert [word for word in words if plain(word) not in text] == []

    return check


def watched(scenario: str, *metrics: str, concern: str = "") -> Check:
    """The scenario lists these metrics, in this order."""

    def check(recorded: Recorded) -> None:
        (found,) = [one for one in SCENARIOS if one.name == scenario]
        listed = [watch.metric for watch in found.watch if concern in ("", watch.concern)]
        assert [metric for metric in listed if metric in metrics] == list(metrics), listed

    return check


def symptom(name: str, first: str, *then: str) -> Check:
    """The symptom leads to this metric first and to those next."""

    def check(recorded: Recorded) -> None:
        (found,) = [one for one in SYMPTOMS if one.name == name]
        assert first in [metric for metric, _ in found.first]
        assert set(then) <= {metric for metric, _ in (*found.first, *found.then)}

    return check


def entry(name: str, **fields: Any) -> Check:
    """An entry of the catalogue has these fields."""

    def check(recorded: Recorded) -> None:
        assert {key: getattr(METRICS[name], key) for key in fields} == fields

    return check


def explains(name: str, ours: str, dialect: str | None = None) -> Check:
    """`rs.explain` opens this entry."""

    def check(recorded: Recorded) -> None:
        assert rs.explain(name, dialect).entry.name == ours

    return check


def every(*checks: Check) -> Check:
    def check(recorded: Recorded) -> None:
        for one in checks:
            one(recorded)

    return check
