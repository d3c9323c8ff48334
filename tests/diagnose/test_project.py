"""A project's own rules, once trusted, and the thresholds that it sets, with their reasons."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.cli import main
from rollscope.diagnose import diagnosis, whole_diagnosis
from rollscope.server.app import create
from rollscope.trust import trusted

RULE = """
from rollscope.diagnose import Finding
from rollscope.diagnose.rule import rule

@rule("too-loud", needs=("my/noise",))
def too_loud(noise):
    '''The noise is loud.'''
    yield Finding(step=3, claim="It is loud", evidence=f"{noise.value[-1]:.0f} dB.", severity="bad")
"""
MASKED = '[truncation]\nwatch = 0.5\nbad = 0.6\nreason = "Overlong answers are masked here."\n'


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a run whose answers are cut in a third of the cases, and which is loud."""
    monkeypatch.setenv("ROLLSCOPE_CONFIG", str(tmp_path / "config"))
    folder = tmp_path / "project" / "runs"
    with rs.init(name="run", id="run", dir=str(folder), host=False) as run:
        for step in range(40):
            run.log({"my/noise": 90.0, "length/truncated": 0.33}, step=step)
    (tmp_path / "project" / ".rollscope" / "rules").mkdir(parents=True)
    return folder


def write(runs: Path, name: str, text: str) -> None:
    (runs.parent / ".rollscope" / name).write_text(text)


def test_a_rule_of_the_project_speaks_once_it_is_trusted_and_not_before(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(runs, "rules/noise.py", RULE)
    told = whole_diagnosis(rs.open(runs).run("run"))
    assert "too-loud" not in {f.rule for f in told.findings}
    assert [s.needs for s in told.skipped if s.rule == ".rollscope/rules/noise.py"] == [
        f"your trust: read the file, then run `rollscope trust {runs.parent}`"
    ]
    trusted.trust(str(runs.parent))
    assert "too-loud" in {f.rule for f in whole_diagnosis(rs.open(runs).run("run")).findings}
    assert main(["doctor", "run", "--dir", str(runs)]) == 1
    assert "It is loud since step 3" in capsys.readouterr().out
    write(runs, "rules/noise.py", RULE.replace("loud", "LOUD"))  # what changed is asked about again
    assert "too-loud" not in {f.rule for f in whole_diagnosis(rs.open(runs).run("run")).findings}


def told(client: TestClient) -> list[dict[str, Any]]:
    """The findings of the run: the first question gets none while a busy machine still looks."""
    until = time.monotonic() + 120
    while not (found := client.get("/api/runs/run/findings").json()["findings"]) and time.monotonic() < until:
        time.sleep(0.2)
    return list(found)


def test_the_server_shows_and_hides_what_a_rule_of_the_project_says(runs: Path) -> None:
    write(runs, "rules/noise.py", RULE)
    trusted.trust(str(runs.parent))
    with TestClient(create(str(runs)), base_url="http://127.0.0.1") as client:
        found = told(client)
        assert "too-loud" in [f["rule"] for f in found]
        word = {"rule": "too-loud", "why": "the room is loud"}
        assert client.post("/api/runs/run/findings/hidden", json=word).json()["hidden"] is True
        assert client.get("/api/runs/run/overview").status_code == 200


def test_a_threshold_of_the_project_holds_and_is_shown_with_its_reason(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = rs.open(runs).run("run")
    assert "truncation" in {f.rule for f in diagnosis(reader).findings}
    write(runs, "doctor.toml", MASKED)
    told = diagnosis(rs.open(runs).run("run"))
    assert "truncation" not in {f.rule for f in told.findings}
    assert len(told.thresholds) == 2 and told.thresholds[0].endswith("otherwise: Overlong answers are masked here.")
    main(["doctor", "run", "--dir", str(runs)])
    said = capsys.readouterr().out
    assert "set by the project: truncation: watch is 0.5 in this project" in said
    write(runs, "doctor.toml", MASKED.replace("0.5", "0.3"))
    (finding,) = [f for f in diagnosis(rs.open(runs).run("run")).findings if f.rule == "truncation"]
    assert finding.thresholds[0].startswith("watch is 0.3 in this project")
    assert main(["doctor", "--rules", "--json", "--dir", str(runs)]) == 0
    rules = {rule["name"]: rule for rule in json.loads(capsys.readouterr().out)}
    assert rules["truncation"]["set"] == list(finding.thresholds) and rules["plateau"]["set"] == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[truncatoin]\nwatch = 1\nreason = 'x'\n", "there is no rule 'truncatoin'"),
        ("[truncation]\nwatch = 0.3\n", "[truncation] has no reason"),
        ("[truncation]\nwatsch = 0.3\nreason = 'x'\n", "has no threshold 'watsch'; it has watch"),
        ("[truncation]\nwatch = 'much'\nreason = 'x'\n", "watch of [truncation] is 'much', not a number"),
        ("truncation = 3\n", "[truncation] has no reason"),
        ("[truncation\n", "cannot be read"),
    ],
    ids=["another rule", "no reason", "another threshold", "no number", "no table", "no TOML"],
)
def test_a_file_that_is_wrong_says_so_and_our_thresholds_hold(runs: Path, text: str, says: str) -> None:
    write(runs, "doctor.toml", text)
    told = diagnosis(rs.open(runs).run("run"))
    assert "truncation" in {f.rule for f in told.findings}
    (broken,) = [f for f in told.findings if f.rule == "doctor.toml"]
    assert says in broken.evidence and broken.severity == "info"
    assert main(["doctor", "--rules", "--dir", str(runs)]) == 2
