"""Marks on samples, sets over runs, and the files a set is taken away in."""

from __future__ import annotations

import csv
import io
import json
import threading
import zipfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput, NotFound
from rollscope.views.sets.collected import Collected, collected
from rollscope.views.sets.formats import FORMATS, SHARD, exported, folder
from rollscope.views.sets.marked import marked_samples

FORMULA = "=cmd|' /C calc'!A1"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for id in ("a", "b"):
        with rs.init(project="p", id=id, dir=tmp_path, host=False) as run:
            for step in range(2):
                samples: list[dict[str, Any]] = [
                    {
                        "id": f"{id}/{step}.{i}",
                        "group": f"g{step}",
                        "prompt": f"What is {i}+{step}?",
                        "completion": FORMULA if i == 0 else f"It is {i + step}.",
                        "answer": str(i + step),
                        "reward": i / 2,
                        "rewards": {"format": 1.0, "nothing": float("nan")},
                        "stop_reason": "length" if i == 0 else "stop",
                    }
                    for i in range(3)
                ]
                run.log_samples(step=step, samples=samples)
    return tmp_path


@pytest.fixture
def found(root: Path) -> Collected:
    store = rs.open(root)
    store.mark("b", ["b/1.2", "b/0.0"], labels=["good"], sets=["to grade"])
    store.mark("a", ["a/0.1"], star=True, comment="why?", sets=["to grade", "other"])
    return collected(store, "to grade")


def test_marks_hold_until_they_are_taken_away_or_undone(root: Path) -> None:
    store = rs.open(root)
    made = store.mark("a", ["a/0.0", "a/0.1"], star=True, labels=["x y", "z"], comment="hm", sets=["s"])
    marks = rs.open(root).sample_marks("a")
    assert set(marks) == {"a/0.0", "a/0.1"} and marks["a/0.0"]["labels"] == ["x y", "z"]
    comment = marks["a/0.0"]["comments"][0]
    assert comment["text"] == "hm" and comment["author"] == made[0].author and comment["time_ns"] == made[4].time_ns
    store.mark("a", ["a/0.0"], star=True, labels=["z"], comment="hm", remove=True)
    assert rs.open(root).sample_marks("a")["a/0.0"] == {"star": False, "labels": ["x y"], "comments": [], "sets": ["s"]}
    store.project.undo([entry.id for entry in made])
    assert rs.open(root).sample_marks("a") == {} and rs.open(root).sets() == {}


def test_what_cannot_be_kept_is_refused_whole(root: Path) -> None:
    store = rs.open(root)
    for labels in (["a/b"], [""], ["x" * 201], ["fine", " "]):
        with pytest.raises(BadInput, match="without a slash"):
            store.mark("a", ["a/0.0"], labels=labels)
    with pytest.raises(NotFound, match="no sample 'nobody'"):
        store.mark("a", ["a/0.0", "nobody"], star=True)
    with pytest.raises(BadInput, match="nothing to say"):
        store.mark("a", ["a/0.0"])
    assert store.sample_marks("a") == {} and store.mark("a", ["a/0.0"], star=True, remove=True) == []


def test_two_people_who_mark_at_once_lose_nothing(root: Path) -> None:
    def label(who: str) -> None:
        for step in range(2):
            for i in range(3):
                rs.open(root).mark("a", [f"a/{step}.{i}"], labels=[who])

    people = [threading.Thread(target=label, args=(f"person {i}",)) for i in range(4)]
    for person in people:
        person.start()
    for person in people:
        person.join(60)
    marks = rs.open(root).sample_marks("a")
    assert len(marks) == 6 and all(sorted(one["labels"]) == [f"person {i}" for i in range(4)] for one in marks.values())


def test_marked_samples_are_listed_newest_first_and_filtered(root: Path, found: Collected) -> None:
    store = rs.open(root)
    marks = store.sample_marks("b")
    listed = marked_samples(store.run("b"), marks)
    assert [one["id"] for one in listed["samples"]] == ["b/1.2", "b/0.0"] and listed["missing"] == 0
    assert listed["samples"][0]["prompt"] == "What is 2+1?" and listed["samples"][0]["labels"] == ["good"]
    narrowed = marked_samples(store.run("b"), {**marks, "gone": marks["b/0.0"]}, "label:good reward>0.5")
    assert [one["id"] for one in narrowed["samples"]] == ["b/1.2"] and narrowed["missing"] == 1


def test_a_set_keeps_its_order_and_says_what_is_gone(root: Path, found: Collected) -> None:
    assert [row["id"] for row in found.rows] == ["b/1.2", "b/0.0", "a/0.1"] and found.missing == 0
    rs.open(root).project.append("set", "to grade/nowhere/x", True)
    assert collected(rs.open(root), "to grade").missing == 1
    with pytest.raises(NotFound, match="Did you mean 'to grade'"):
        collected(rs.open(root), "to grad")


def test_json_lines_hold_each_sample_with_its_marks(found: Collected) -> None:
    lines = [json.loads(line) for line in exported(found, "jsonl").splitlines()]
    assert [line["run"] for line in lines] == ["b", "b", "a"]
    assert lines[0]["completion"] == "It is 3." and lines[0]["rewards"] == {"format": 1.0, "nothing": "NaN"}
    assert lines[2]["star"] is True and lines[2]["comments"] == ["why?"] and lines[0]["labels"] == ["good"]


def test_csv_runs_in_no_spreadsheet(found: Collected) -> None:
    rows = list(csv.DictReader(io.StringIO(exported(found, "csv").decode())))
    assert [row["id"] for row in rows] == ["b/1.2", "b/0.0", "a/0.1"] and rows[1]["completion"] == f"'{FORMULA}"
    assert rows[0]["labels"] == '["good"]' and "token_ids" not in rows[0] and rows[0]["run"] == "b"


def test_parquet_and_the_folder_for_datasets_hold_the_same_rows(found: Collected) -> None:
    table = pq.read_table(io.BytesIO(exported(found, "parquet")))
    assert table["labels"].to_pylist() == [["good"], ["good"], []] and table["run"].to_pylist() == ["b", "b", "a"]
    files = folder(found)
    assert pq.read_table(io.BytesIO(files[SHARD])).equals(table)
    assert files["README.md"].startswith(b"---\nconfigs:\n- config_name: default\n") and b"`good`" in files["README.md"]
    with zipfile.ZipFile(io.BytesIO(exported(found, "hf"))) as archive:
        assert set(archive.namelist()) == {"README.md", SHARD} and archive.read("README.md") == files["README.md"]


def test_an_inspect_log_holds_conversation_target_and_scores(found: Collected) -> None:
    log = json.loads(exported(found, "inspect"))
    assert (log["version"], log["status"], log["eval"]["task"]) == (2, "success", "to grade")
    first, cut, _ = log["samples"]
    assert first["id"] == "b/b/1.2" and first["input"] == "What is 2+1?" and first["target"] == "3"
    assert [message["role"] for message in first["messages"]] == ["user", "assistant"]
    assert first["scores"] == {"format": {"value": 1.0}, "reward": {"value": 1.0}}  # a NaN is no score
    assert cut["output"]["choices"][0]["stop_reason"] == "max_tokens" and first["metadata"]["labels"] == ["good"]


def test_an_inspect_log_holds_the_calls_of_an_answer_without_words(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "arguments": "add(2, 2)"}]
    with rs.init(id="a", dir=tmp_path, host=False) as run:
        run.log_samples(step=1, samples=[{"id": "s", "reward": 1.0, "turns": turns}])
    store = rs.open(tmp_path)
    store.mark("a", ["s"], sets=["calls"])
    (sample,) = json.loads(exported(collected(store, "calls"), "inspect"))["samples"]
    assert [message["content"] for message in sample["messages"]] == ["2 + 2?", "add(2, 2)"]


def test_the_command_line_marks_filters_and_exports(root: Path, tmp_path: Path, capsys: Any) -> None:
    def call(*argv: str, code: int = 0) -> str:
        assert main([*argv, "--dir", str(root)]) == code
        out = capsys.readouterr()
        return str(out.err if code else out.out)

    assert "no set yet" in call("sets") and "No sample of this run is marked" in call("mark", "a")
    call("mark", "a", "a/0.1", "a/1.1", "--label", "hack", "--set", "hacks", "--comment", "see")
    assert "hack, in hacks, “see”" in call("mark", "a") and "hacks  2 samples of 1 run" in call("sets")
    shown = call("samples", "a", "--filter", "label:hack reward:0..1", "--json")
    assert [json.loads(line)["id"] for line in shown.splitlines()] == ["a/0.1", "a/1.1"]
    assert "holds no filter word" in call("samples", "a", "--filter", "hack", code=2)
    for format in FORMATS:
        out = tmp_path / "out" / format
        assert "Wrote 2 samples" in call("sets", "hacks", "--format", format, "--out", str(out))
        assert (out / SHARD).is_file() if format == "hf" else out.stat().st_size > 0
    call("mark", "a", "a/1.1", "--set", "hacks", "--remove")
    assert "1 sample of 1 run" in call("sets")
