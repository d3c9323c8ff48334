"""Evaluations from elsewhere: files of Inspect and lm-evaluation-harness, and JSON lines."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.views.evals.sets import sets
from rollscope.views.evals.task_scores import task_scores

GOLDEN = Path(__file__).parent.parent / "golden"
INSPECT = GOLDEN / "inspect" / "sums.eval"
HARNESS = next((GOLDEN / "lm_eval").glob("samples_*.jsonl"))
LINES = [
    {"set": "math", "task": "a", "score": 1, "answer": "4", "tags": ["easy"], "prompt": "2 + 2?", "completion": "4"},
    {"set": "math", "task": "a", "score": 0},
    {"set": "math", "task": "b", "scores": {"score": 0.0}, "cluster": "book"},
    {"set": "math", "task": "c", "failed": True},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run that ended at step 300, and its last evaluation at step 200."""
    with rs.init(id="grpo", dir=tmp_path / "runs", host=False) as run:
        for step in (100, 200, 300):
            run.log({"reward/mean": step / 1000}, step=step)
        run.log_eval("math", [{"task": task, "repeat": 0, "score": 1} for task in "ab"], step=200)
    return tmp_path / "runs"


def take(folder: Path, path: Path, step: int = 300) -> int:
    return main(["import", str(path), "--into", "grpo", "--step", str(step), "--dir", str(folder)])


def means(folder: Path, name: str, score: str | None = None, step: int = 300) -> dict[str, float]:
    evals = sets(rs.open(folder).run("grpo"))[name]
    at = evals.number_of(step)
    assert at is not None
    return dict(zip(evals.tasks, task_scores(evals, score).mean[:, at].tolist(), strict=True))


def written(folder: Path, lines: list[dict[str, Any]]) -> Path:
    path = folder.parent / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("path", [INSPECT, GOLDEN / "inspect" / "sums.json"], ids=["eval", "json"])
def test_a_log_of_inspect_becomes_an_evaluation_of_the_run(folder: Path, path: Path) -> None:
    assert take(folder, path) == 0
    reader = rs.open(folder).run("grpo")
    assert means(folder, "sums", "includes") == {"q1": 1.0, "q2": 1.0, "q3": 0.5, "q4": 0.0}
    assert sets(reader)["sums"].scores == ("match", "includes") and sets(reader)["sums"].repeat.max() == 1
    sample = reader.samples(where="split = 'eval'", order_by="task", limit=1)
    assert sample["prompt"][0] == "What is 2 + 2?" and sample["completion"][0] in ("The answer is 4", "4")
    assert reader.series("eval/sums/includes/mean@2")["value"].tolist() == [0.625]


def test_samples_of_the_harness_keep_a_score_for_each_filter(folder: Path) -> None:
    assert take(folder, HARNESS) == 0
    assert means(folder, "gsm8k", "exact_match,strict-match") == {"0": 1.0, "1": 0.0, "2": 0.0, "3": 0.0}
    assert means(folder, "gsm8k", "exact_match,flexible-extract") == {"0": 1.0, "1": 1.0, "2": 0.0, "3": 0.0}
    sample = rs.open(folder).run("grpo").samples(where="task = '1' AND env = 'gsm8k'")
    assert sample["prompt"][0].startswith("Question: What is 3 * 5?") and sample["completion"][0] == "I think 15"


def test_lines_of_json_keep_repeats_failures_tags_and_clusters(folder: Path) -> None:
    assert take(folder, written(folder, LINES)) == 0
    evals = sets(rs.open(folder).run("grpo"))["math"]
    assert means(folder, "math")["a"] == 0.5 and means(folder, "math")["b"] == 0.0
    assert evals.tags[0] == ("easy",) and evals.tasks == ("a", "b", "c")
    at = evals.at == evals.number_of(300)
    assert evals.failed[at].tolist() == [False, False, False, True]


def test_the_run_itself_stays_as_it_was(folder: Path) -> None:
    before = rs.open(folder).runs()[0]
    assert take(folder, INSPECT, step=200) == 0
    after = rs.open(folder).runs()[0]
    assert {key: before[key] for key in ("state", "step", "started_ns", "ended_ns", "name")} == {
        key: after[key] for key in ("state", "step", "started_ns", "ended_ns", "name")
    }


@pytest.mark.parametrize("path", [INSPECT, HARNESS], ids=["inspect", "harness"])
def test_the_same_file_twice_adds_nothing_under_any_name(folder: Path, path: Path, capsys: Any) -> None:
    assert take(folder, path) == 0
    rows = rs.open(folder).run("grpo").evals()
    copy = folder.parent / f"copy{path.suffix}"
    shutil.copy(path, copy)
    assert take(folder, path) == 0 and take(folder, copy) == 0
    capsys.readouterr()
    assert take(folder, path, step=100) == 0
    assert "has these evaluations already, at step 300" in capsys.readouterr().out
    again = rs.open(folder).run("grpo").evals()
    assert len(again["task"]) == len(rows["task"]) and set(again["step"].tolist()) == {200, 300}


def test_an_import_meets_the_gate(folder: Path, capsys: Any) -> None:
    assert take(folder, written(folder, LINES)) == 0
    gate = ["evals", "grpo", "--at", "300", "--against-at", "200", "--json", "--dir", str(folder)]
    capsys.readouterr()
    assert main(gate) == 0
    found = json.loads(capsys.readouterr().out)["sets"]["math"]
    assert found["n"] == 2 and found["lost"] == ["a", "b"]


def test_a_log_alone_becomes_a_run(tmp_path: Path) -> None:
    assert main(["import", str(INSPECT), "--dir", str(tmp_path)]) == 0
    (run,) = rs.open(tmp_path).runs()
    assert run.name == "sums" and len(rs.open(tmp_path).run(run.id).evals()["task"]) == 8
    assert main(["import", str(INSPECT), "--dir", str(tmp_path)]) == 0
    assert len(rs.open(tmp_path).run(run.id).evals()["task"]) == 8


def test_samples_that_a_log_lacks_have_failed(folder: Path) -> None:
    log = json.loads((GOLDEN / "inspect" / "sums.json").read_text())
    log["samples"] = log["samples"][:3]
    path = folder.parent / "cut.json"
    path.write_text(json.dumps(log))
    assert take(folder, path) == 0
    evals = sets(rs.open(folder).run("grpo"))["sums"]
    assert len(evals.tasks) == 4 and int(evals.failed.sum()) == 5


def bomb(path: Path) -> None:
    """A small log with a sample that unpacks to 300 MB, and one that is not packed as it says."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m"}}))
        archive.writestr("samples/1.json", b" " * (300 << 20))
        archive.writestr("samples/2.json", b" " * 1000)
    raw = bytearray(path.read_bytes())
    last = raw.rfind(b"PK\x01\x02")
    raw[last + 10 : last + 12] = (93).to_bytes(2, "little")  # not Zstandard, though it says so
    path.write_bytes(raw)


def deep(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"task": "t"}}))
        archive.writestr("samples/1.json", "[" * 200_000)


def truncated(path: Path) -> None:
    path.write_bytes(INSPECT.read_bytes()[:9_000])


def headless(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../escape.json", "{}")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (bomb, "unpacks to more than 256 MB"),
        (bomb, "2.json cannot be unpacked"),
        (deep, "not valid JSON"),
        (truncated, "zip file is damaged"),
        (headless, "no header.json"),
        (lambda path: path.write_bytes(b"PK\x03\x04"), "zip file is damaged"),
        (lambda path: path.write_text('{"task": 1}'), "not a format"),
    ],
    ids=["bomb", "other method", "deep", "truncated", "headless", "four bytes", "no zip"],
)
def test_a_hostile_or_damaged_log_gets_a_sentence(folder: Path, capsys: Any, make: Any, says: str) -> None:
    path = folder.parent / "odd.eval"
    make(path)
    before = len(rs.open(folder).run("grpo").evals()["task"])
    take(folder, path)
    out = capsys.readouterr()
    assert says in out.out + out.err and "Please report" not in out.out
    assert len(rs.open(folder).run("grpo").evals()["task"]) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--into", "grpo"], "give --step N"),
        (["--step", "3"], "give --into RUN"),
        (["--into", "nobody", "--step", "3"], "nobody"),
        (["--into", "grpo", "--step", "3", "--follow"], "leave out --follow"),
    ],
)
def test_half_a_question_gets_a_sentence(folder: Path, capsys: Any, words: list[str], says: str) -> None:
    assert main(["import", str(INSPECT), *words, "--dir", str(folder)]) == 2
    said = capsys.readouterr()
    assert says in said.out + said.err


def test_numbers_that_are_no_evaluation_stay_out(folder: Path, capsys: Any) -> None:
    path = folder.parent / "log.jsonl"
    path.write_text('{"step": 1, "loss": 0.5}\n')
    assert take(folder, path) in (0, 2)
    assert "holds no evaluations" in capsys.readouterr().out
    assert "loss" not in rs.open(folder).run("grpo").metrics()["name"]
