"""Rules of one's own: whatever one of them does, the others speak, and it is a finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.diagnose import Diagnosis
from rollscope.diagnose.own.ask import asked

HEAD = """
import os, sys, threading, time
from rollscope.diagnose import Advice, Finding
from rollscope.diagnose.rule import rule

@rule("mine", needs=("my/number",))
def mine(series):
    '''My number is high.

    Look at it.
    '''
    print("this goes nowhere")
    yield Finding(step=3, claim="It is high", evidence="9.", severity="bad", advice=(Advice("lower it", "me"),))

@rule("lacking", needs=("no/such/series",))
def lacking(series):
    '''Never asked.'''
    yield Finding(step=0, claim="no", evidence="")
"""
ODD = {
    "raises": "raise ZeroDivisionError('by nothing')",
    "loops": "while True: pass",
    "eats memory": "x = []\n    while True: x.append(bytearray(1 << 24))",
    "exits": "os._exit(3)",
    "leaves": "sys.exit(0)",
    "sleeps": "time.sleep(3600)",
    "returns nonsense": "return [{'step': 'x'}]",
    "leaves a thread": "threading.Thread(target=time.sleep, args=(3600,)).start(); raise ValueError('late')",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    with rs.init(id="r", dir=folder, host=False) as run:
        for step in range(30):
            run.log({"my/number": 9.0}, step=step)
    return folder


def rules(folder: Path, *bodies: str) -> str:
    odd = [
        f"@rule('odd-{i}', needs=('my/number',))\ndef odd{i}(series):\n    {body}\n" for i, body in enumerate(bodies)
    ]
    (folder / "rules.py").write_text("\n".join([HEAD, *odd]))
    return str(folder / "rules.py")


def told(run: Path, file: str) -> Diagnosis:
    return asked(str(run / "r"), file, seconds=4.0)


def test_a_rule_speaks_and_one_that_lacks_its_series_says_so(run: Path, tmp_path: Path) -> None:
    told_ = told(run, rules(tmp_path))
    assert [(f.rule, f.severity, f.step, f.title) for f in told_.findings] == [("mine", "bad", 3, "My number is high.")]
    assert [(s.rule, "no/such/series" in s.needs) for s in told_.skipped] == [("lacking", True)]


@pytest.mark.parametrize("what", ODD)
def test_whatever_one_rule_does_the_others_speak_and_it_is_a_finding(what: str, run: Path, tmp_path: Path) -> None:
    findings = {f.rule: f for f in told(run, rules(tmp_path, ODD[what])).findings}
    assert findings["mine"].claim == "It is high"
    assert "odd-0 could not read this run" in findings["odd-0"].claim and findings["odd-0"].evidence


def test_several_rules_may_fail_each_in_its_own_way(run: Path, tmp_path: Path) -> None:
    findings = {f.rule for f in told(run, rules(tmp_path, ODD["loops"], ODD["raises"], ODD["exits"])).findings}
    assert findings == {"mine", "odd-0", "odd-1", "odd-2"}


@pytest.mark.parametrize("text", ["raise SystemExit(0)", "def broken(:", "import no_such_module", "while True: pass"])
def test_a_file_that_cannot_be_loaded_is_a_finding(
    text: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollscope.diagnose.own.ask.BEGIN_SECONDS", 8.0)
    (tmp_path / "rules.py").write_text(text)
    (finding,) = told(run, str(tmp_path / "rules.py")).findings
    assert "rules.py" in finding.claim


def test_a_rule_cannot_take_the_name_of_one_of_ours(run: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.py").write_text(HEAD.replace('"mine"', '"non-finite"'))
    (finding,) = told(run, str(tmp_path / "rules.py")).findings
    assert "that of a rule of ours" in finding.evidence


def test_the_doctor_reads_a_file_only_when_it_is_named(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = rules(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "r", "--dir", str(run)]) == 0
    capsys.readouterr()
    assert main(["doctor", "r", "--dir", str(run), "--rule-file", file, "--json"]) == 1
    assert [f["rule"] for f in json.loads(capsys.readouterr().out)] == ["mine"]
    assert main(["doctor", "r", "--dir", str(run), "--rule-file", "nowhere.py"]) == 2
    assert "no file 'nowhere.py'" in capsys.readouterr().err
