"""Scanners give samples numbers and words: once each, kept, found, charted, and retried."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.scan.blocks import blocks
from rollscope.scan.scanner import scanners
from rollscope.views.samples.rollouts import rollouts
from rollscope.views.samples.sample_detail import sample_details
from rollscope.views.samples.search import Narrow

FILE = """
from rollscope.scan import scanner

@scanner(needs=["completion"])
def refusal(samples):
    return ["cannot" in (sample["completion"] or "") for sample in samples]

@scanner(needs=["completion"])
def language(samples):
    return [None if sample["completion"] is None else sample["completion"].split()[0] for sample in samples]
"""
TEXTS = ("en I cannot help", "en the answer is 4", "de ich weiss", None)


def sample(step: int, i: int) -> dict[str, Any]:
    return {"id": f"{step}-{i}", "group": f"g{step}", "repeat": i, "reward": float(i), "completion": TEXTS[i]}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    with rs.init(dir=str(tmp_path / "runs"), id="r", host=False) as run:
        for step in range(5):
            run.log_samples(step=step, samples=[sample(step, i) for i in range(len(TEXTS))])
            run.log_samples(step=step, samples=[{"id": f"e{step}", "completion": TEXTS[0], "split": "eval"}])
    return tmp_path / "runs"


def scanned(runs: Path, text: str, *words: str, run: str = "r") -> tuple[int, Path]:
    file = runs.parent / "mine.py"
    file.write_text(text)
    return main(["scan", str(file), run, "--dir", str(runs), *words]), file


def test_what_scanners_say_is_filtered_charted_and_shown(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert scanned(runs, FILE)[0] == 0
    assert "25 samples scanned by refusal, language" in capsys.readouterr().out
    run = rs.open(str(runs)).run("r")
    np.testing.assert_allclose(run.series("scan/refusal/mean")["value"], [0.25] * 5)
    np.testing.assert_allclose(run.series("scan/language/en")["value"], [2 / 3] * 5)
    parts = rollouts(run, 3).parts
    by_id = dict(zip(rollouts(run, 3).ids, parts["scan/language/de"].tolist(), strict=True))
    assert by_id["3-2"] == 1.0 and by_id["3-0"] == 0.0 and math.isnan(by_id["3-3"])
    ids = [f"3-{i}" for i in range(4)]
    assert [*Narrow("scan/refusal=1").rows(run, ids)] == ["3-0"]
    assert [*Narrow("scan/language/en=1").rows(run, ids)] == ["3-0", "3-1"]
    assert sample_details(run, ["3-0"])[0]["scans"] == {"refusal": 1.0, "language": "en"}
    assert sample_details(run, ["3-3"])[0]["scans"] == {"refusal": 0.0}


def test_a_second_scan_reads_what_is_new_and_a_changed_file_everything(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scanned(runs, FILE)
    scanned(runs, FILE)
    assert "nothing new to scan" in capsys.readouterr().out
    with rs.init(dir=str(runs), id="r", resume=True, host=False) as run:
        run.log_samples(step=9, samples=[sample(9, i) for i in range(4)])
    scanned(runs, FILE)
    assert "4 samples scanned" in capsys.readouterr().out
    scanned(runs, FILE + "\n# another version\n", "--json")
    assert json.loads(capsys.readouterr().out)[0]["samples"] == 29


def test_the_newest_word_of_a_scanner_counts(runs: Path) -> None:
    scanned(runs, FILE)
    scanned(runs, FILE.replace('"cannot" in', '"answer" in'))
    reader = rs.open(str(runs)).run("r")
    assert sample_details(reader, ["2-0"])[0]["scans"]["refusal"] == 0.0
    assert sample_details(reader, ["2-1"])[0]["scans"]["refusal"] == 1.0
    np.testing.assert_allclose(reader.series("scan/refusal/mean")["value"], [0.25] * 5)
    both = reader.sql("select count(*) as n from scans where name = 'refusal'")
    assert both["n"][0] == 50


def test_an_abandoned_attempt_takes_its_scans_with_it(runs: Path) -> None:
    scanned(runs, FILE)
    with rs.init(dir=str(runs), id="r", resume=2, host=False) as run:
        run.log({"loss": 1.0}, step=3)
    reader = rs.open(str(runs)).run("r")
    assert reader.series("scan/refusal/mean")["step"].tolist() == [0, 1, 2]


FAILING = """
import os, pathlib
from rollscope.scan import scanner

@scanner(needs=["completion"])
def picky(samples):
    mark = pathlib.Path(__file__).with_suffix(f".{min(sample['step'] for sample in samples)}")
    if len(samples) and samples[0]["step"] == 2:
        mark.open("a").write("x")
        ACT
    return [1.0] * len(samples)
"""


@pytest.mark.parametrize("act", ["raise OSError('the judge is away')", "os._exit(7)"])
def test_a_block_that_fails_is_tried_three_times_and_costs_itself_alone(
    runs: Path, act: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rollscope.scan.blocks.blocks.__defaults__", (False, 5))
    code, file = scanned(runs, FAILING.replace("ACT", act), "--json")
    said = json.loads(capsys.readouterr().out)[0]
    assert code == 1 and (said["samples"], said["failed"]) == (20, 5)
    assert ("the judge is away" if "raise" in act else "its process ended") in next(iter(said["why"]))
    assert len(file.with_suffix(".2").read_text()) >= 3
    assert scanned(runs, FAILING.replace("ACT", "pass"))[0] == 0
    assert len(rs.open(str(runs)).run("r").series("scan/picky/mean")["step"]) == 5


def test_a_block_that_fails_once_is_whole_after_the_second_try(runs: Path) -> None:
    once = FAILING.replace("ACT", "if len(mark.read_text()) < 2: raise OSError('busy')")
    assert scanned(runs, once)[0] == 0
    assert rs.open(str(runs)).run("r").sql("select count(*) as n from scans")["n"][0] == 25


def test_blocks_end_where_steps_end(runs: Path) -> None:
    run = rs.open(str(runs)).run("r")
    cut = blocks(run, ["x"], "", size=12)
    assert [len(block) for block in cut] == [10, 10, 5]
    assert sorted(id for block in cut for id in block) == sorted(run.samples(columns=["id"])["id"])
    assert [len(block) for block in blocks(run, ["x"], "", size=1)] == [5] * 5


BAD = {
    "x = 1": "defines no scanner",
    "import nothing_of_this_name": "could not be run",
    "def f(:": "could not be run",
    "from rollscope.scan import scanner\nscanner(needs=['completions'])": "Did you mean 'completion'",
    "from rollscope.scan import scanner\n@scanner(needs=[], name='a/b')\ndef f(s): ...": "cannot be called 'a/b'",
}


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_is_wrong_gets_a_sentence(runs: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert scanned(runs, text)[0] == 2
    assert BAD[text] in capsys.readouterr().err


RESULTS = {
    "[1.0]": "returned 1 results for 5 samples",
    "[[1]] * len(samples)": "Return a number, a word or None",
    "None": "TypeError",
}


@pytest.mark.parametrize("result", RESULTS)
def test_a_wrong_result_gets_a_sentence(runs: Path, result: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"from rollscope.scan import scanner\n@scanner(needs=[])\ndef f(samples): return {result}"
    code, _ = scanned(runs, text, "--json")
    assert code == 1 and RESULTS[result].replace("5", "25") in str(json.loads(capsys.readouterr().out)[0]["why"])


def test_results_of_every_kind(runs: Path) -> None:
    text = """
from rollscope.scan import scanner
import numpy as np
@scanner(needs=["reward"])
def many(samples):
    return [{"half": np.float32(0.5), "yes": np.True_, "word": "w" * 500, "none": float("nan")} for _ in samples]
"""
    assert scanned(runs, text)[0] == 0
    rows = rs.open(str(runs)).run("r").sql("select name, value, length(label) as n from scans where sample = '0-1'")
    said = {name: (value, n) for name, value, n in zip(rows["name"], rows["value"], rows["n"], strict=True)}
    assert said["many/half"][0] == 0.5 and said["many/yes"][0] == 1.0 and said["many/word"][1] == 200
    assert math.isnan(said["many/none"][0])


def test_two_scanners_of_one_name_are_refused() -> None:
    twice = "from rollscope.scan import scanner\n" + "@scanner(needs=[])\ndef f(s): return s\n" * 2
    with pytest.raises(rs.RollscopeError, match="two scanners are called 'f'"):
        scanners(twice, "x.py")
