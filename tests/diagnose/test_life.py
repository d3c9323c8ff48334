"""The life of a finding: opened, worse, recovered; written into the run, once."""

from __future__ import annotations

from pathlib import Path

import pytest

import rollscope as rs
from rollscope.diagnose.finding import Finding, Severity
from rollscope.diagnose.life import GONE, SEEN, Lives, events_of, with_life
from rollscope.store.run import Run


@pytest.fixture
def reader(tmp_path: Path) -> Run:
    with rs.init(name="run", dir=str(tmp_path), host=False) as run:
        run.log({"policy/entropy": 1.0}, step=0)
    return rs.open(tmp_path).run(run.id)


def collapse(severity: Severity = "watch") -> Finding:
    return Finding(step=7, claim="Entropy collapsed", evidence="0.1 left.", severity=severity, rule="entropy-collapse")


def told(reader: Run) -> list[tuple[str, str]]:
    return [(event.life, event.severity) for event in events_of(reader).get("entropy-collapse", [])]


def test_a_finding_opens_gets_worse_and_recovers(reader: Run) -> None:
    lives = Lives(reader)
    for _ in range(SEEN):
        lives.look([collapse()], 10)
    for _ in range(3):
        lives.look([collapse("bad")], 12)
    for _ in range(GONE):
        lives.look([], 20)
    assert told(reader) == [("opened", "watch"), ("worse", "bad"), ("recovered", "bad")]
    assert reader.sql("select count(*) as n, max(until) as until from findings")["n"][0] == 3
    assert [event.life for event in with_life([collapse()], reader)[0].life] == ["opened", "worse", "recovered"]


def test_what_flickers_is_not_told(reader: Run) -> None:
    lives = Lives(reader)
    for _ in range(4):
        lives.look([collapse()], 10)
        lives.look([], 10)
    assert told(reader) == []


def test_a_short_absence_is_no_recovery(reader: Run) -> None:
    lives = Lives(reader)
    for findings in ([collapse()], [collapse()], [], [collapse()], [], [collapse()]):
        lives.look(findings, 10)
    assert told(reader) == [("opened", "watch")]


def test_a_second_doctor_writes_nothing_twice(reader: Run, tmp_path: Path) -> None:
    first = Lives(reader)
    for _ in range(3):
        first.look([collapse()], 10)
    other = Lives(rs.open(tmp_path).run(reader.id))
    for _ in range(3):
        other.look([collapse()], 11)
    assert told(reader) == [("opened", "watch")]


def test_the_last_look_at_a_run_that_ends_opens_at_once(reader: Run) -> None:
    Lives(reader).look([collapse("bad")], 10, ended=True)
    assert told(reader) == [("opened", "bad")]
