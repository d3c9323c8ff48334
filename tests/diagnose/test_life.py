"""The life of a finding: opened, worse, recovered; written into the run, once."""

from __future__ import annotations

from pathlib import Path

import pytest

import rollscope as rs
from rollscope.diagnose import diagnosis
from rollscope.diagnose.finding import Finding, Severity
from rollscope.diagnose.life import GONE, SEEN, Lives, events_of
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
    lives = Lives(reader.path)
    for _ in range(SEEN):
        lives.look(reader, [collapse()])
    for _ in range(3):
        lives.look(reader, [collapse("bad")])
    for _ in range(GONE):
        lives.look(reader, [])
    assert told(reader) == [("opened", "watch"), ("worse", "bad"), ("recovered", "bad")]
    assert reader.sql("select count(*) as n, max(until) as until from findings")["n"][0] == 3
    (past,) = diagnosis(reader).recovered
    assert [event.life for event in past.life] == ["opened", "worse", "recovered"]
    assert (past.claim, past.step, past.until) == ("Entropy collapsed", 7, 0)


def test_a_diagnosis_carries_the_lives_of_its_findings(tmp_path: Path) -> None:
    with rs.init(name="run", dir=str(tmp_path), host=False) as run:
        for step in range(80):
            run.log({"policy/entropy": 1.0 if step < 40 else 0.01}, step=step)
    reader = rs.open(tmp_path).run(run.id)
    assert [finding.life for finding in diagnosis(reader).findings] == [()]
    Lives(reader.path).look(reader, diagnosis(reader).findings, ended=True)
    told = diagnosis(reader)
    assert [(event.life, event.step) for event in told.findings[0].life] == [("opened", 79)]
    assert told.recovered == []


def test_what_flickers_is_not_told(reader: Run) -> None:
    lives = Lives(reader.path)
    for _ in range(4):
        lives.look(reader, [collapse()])
        lives.look(reader, [])
    assert told(reader) == []


def test_a_short_absence_is_no_recovery(reader: Run) -> None:
    lives = Lives(reader.path)
    for findings in ([collapse()], [collapse()], [], [collapse()], [], [collapse()]):
        lives.look(reader, findings)
    assert told(reader) == [("opened", "watch")]


def test_a_second_doctor_writes_nothing_twice(reader: Run, tmp_path: Path) -> None:
    first, other = Lives(reader.path), Lives(reader.path)
    for _ in range(3):
        first.look(reader, [collapse()])
        assert other.look(rs.open(tmp_path).run(reader.id), [collapse()]) == []
    first.close()
    for _ in range(3):
        other.look(rs.open(tmp_path).run(reader.id), [collapse()])
    assert told(rs.open(tmp_path).run(reader.id)) == [("opened", "watch")]


def test_the_last_look_at_a_run_that_ends_opens_at_once(reader: Run) -> None:
    Lives(reader.path).look(reader, [collapse("bad")], ended=True)
    assert told(reader) == [("opened", "bad")]
