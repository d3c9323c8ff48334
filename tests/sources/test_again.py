"""Importing again, importing while files grow, and importing a folder that holds more than logs."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rollscope as rs
from rollscope.store.seal import compact, logs


def lines(path: Path, values: dict[int, float], name: str = "a") -> Path:
    path.write_text("".join(json.dumps({"step": step, name: value}) + "\n" for step, value in values.items()))
    return path


def said(report: Any, word: str) -> bool:
    return any(word in str(item) for item in report.skipped)


def test_a_file_that_is_named_twice_is_taken_once(tmp_path: Path, imported: Any) -> None:
    file = lines(tmp_path / "log.jsonl", {1: 0.5, 2: 0.25})
    report = imported.take(file, file, tmp_path)
    assert [run["values"] for run in report.runs.values()] == [2] and len(imported.table("metrics")) == 0
    assert imported.run().metrics()["count"].tolist() == [2]


def test_a_folder_that_holds_our_own_runs_is_imported_without_them(tmp_path: Path, imported: Any) -> None:
    with rs.init(id="ours", dir=tmp_path / "work" / "runs", host=False) as run:
        run.log_samples(step=0, samples=[{"id": "s", "prompt": "p", "completion": "c", "reward": 1.0}])
    logs.seal(str(tmp_path / "work" / "runs" / "ours"))
    lines(tmp_path / "work" / "log.jsonl", {1: 0.5})
    report = imported.take(tmp_path / "work")
    assert [Path(file).name for file in report.files] == ["log.jsonl"] and report.skipped == []
    assert said(imported.take(tmp_path / "work" / "runs" / "ours"), "needs no import")


def test_a_pipe_in_a_folder_does_not_keep_an_import_waiting(tmp_path: Path, imported: Any) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    lines(tmp_path / "log.jsonl", {1: 0.5})
    report = imported.take(tmp_path)
    assert [Path(file).name for file in report.files] == ["log.jsonl"]
    assert said(imported.take(tmp_path / "pipe.jsonl"), "neither a file nor a folder")


@pytest.mark.parametrize("merged", [False, True])
def test_a_file_that_was_written_anew_replaces_what_was_sealed_of_it(
    tmp_path: Path, imported: Any, merged: bool
) -> None:
    file = lines(tmp_path / "log.jsonl", {i: float(i) for i in range(10)})
    imported.take(file)
    with file.open("a") as more:
        more.write('{"step": 10, "a": 10.0}\n')
    imported.take(file)
    folder = str(imported.root / imported.ids()[0])
    logs.seal(folder)
    if merged:
        assert compact.compact(folder, everything=True) == 1
    lines(file, {0: 100.0, 1: 200.0})
    assert said(imported.take(file), "rewritten") and imported.series("a") == {0: 100.0, 1: 200.0}
    with file.open("a") as more:
        more.write('{"step": 2, "a": 300.0}\n')
    imported.take(file)
    assert imported.series("a") == {0: 100.0, 1: 200.0, 2: 300.0}


def test_lines_that_begin_as_before_and_go_on_otherwise_are_read_anew(tmp_path: Path, imported: Any) -> None:
    same = "x" * 80  # longer than what is kept of a file's beginning
    file = lines(tmp_path / "log.jsonl", {1: 1.0, 2: 2.0}, same)
    imported.take(file)
    lines(file, {1: 1.5, 2: 2.25, 3: 3.125}, same)
    assert said(imported.take(file), "rewritten") and imported.series(same) == {1: 1.5, 2: 2.25, 3: 3.125}


def test_a_table_that_was_written_anew_is_read_anew_and_one_that_grew_is_not(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "log.csv"
    file.write_text("step,loss\n1,0.5\n2,0.25\n")
    imported.take(file)
    file.write_text("step,loss\n1,0.5\n2,0.25\n3,0.125\n")
    report = imported.take(file)
    assert [run["values"] for run in report.runs.values()] == [1] and report.skipped == []
    file.write_text("step,loss\n1,5\n2,4\n3,3\n4,2\n")
    assert said(imported.take(file), "written anew") and imported.series("loss") == {1: 5.0, 2: 4.0, 3: 3.0, 4: 2.0}


def test_a_trackio_run_that_was_recorded_anew_under_its_name_is_read_anew(tmp_path: Path, imported: Any) -> None:
    def recorded(values: list[float], day: int) -> Path:
        path = tmp_path / "project.db"
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as db:
            db.execute(
                "create table metrics (id integer primary key, timestamp text, run_name text, step integer, metrics text)"
            )
            db.execute("create table configs (id integer primary key, run_name text, config text)")
            rows = [
                (f"2026-01-{day:02}T00:00:{i:02}", "r", i, json.dumps({"loss": value}))
                for i, value in enumerate(values)
            ]
            db.executemany("insert into metrics (timestamp, run_name, step, metrics) values (?, ?, ?, ?)", rows)
        db.close()
        return path

    imported.take(recorded([3.0, 2.0, 1.0], day=1))
    assert imported.series("loss") == {0: 3.0, 1: 2.0, 2: 1.0}
    assert said(imported.take(recorded([30.0, 20.0], day=2)), "recorded anew") and imported.series("loss") == {
        0: 30.0,
        1: 20.0,
    }


def test_a_name_that_is_no_text_is_a_file_like_any_other(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/log.jsonl", "w") as file:
        file.write('{"step": 1, "a": 0.5}\n{damaged\n')
    for new in ("1 values", "0 values"):
        command = [sys.executable, "-m", "rollscope", "import", str(tmp_path), "--dir", str(tmp_path / "runs")]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        )
        assert done.returncode == 0 and done.stderr == "" and new in done.stdout
    assert rs.open(tmp_path / "runs").run().series("a")["value"].tolist() == [0.5]


def test_where_it_cannot_be_read_how_far_an_import_came_everything_is_taken_anew(tmp_path: Path, imported: Any) -> None:
    file = lines(tmp_path / "log.jsonl", {1: 0.5, 2: 0.25})
    imported.take(file)
    (sidecar,) = imported.root.glob("*/*.import.json")
    sidecar.write_text('{"seq": 1, "fil')
    assert [run["values"] for run in imported.take(file).runs.values()] == [2]
    assert imported.series("a") == {1: 0.5, 2: 0.25} and imported.run().metrics()["count"].tolist() == [2]


def test_thousands_of_small_files_of_one_run_are_taken_once_each(tmp_path: Path, imported: Any) -> None:
    folder = tmp_path / "out" / "completions"
    folder.mkdir(parents=True)
    for step in range(1, 301):
        table = pa.table({"step": [step], "prompt": ["p"], "completion": ["c"], "reward": [1.0], "advantage": [0.0]})
        pq.write_table(table, folder / f"completions_{step:05}.parquet")
    assert [run["rows"] for run in imported.take(tmp_path / "out").runs.values()] == [300]
    assert [run["rows"] for run in imported.take(tmp_path / "out").runs.values()] == [0]
    assert len(imported.run().samples(columns=["id"])["id"]) == 300


def test_a_followed_file_is_a_run_that_goes_on_and_watch_follows_it_to_its_end(tmp_path: Path) -> None:
    file = lines(tmp_path / "log.jsonl", {1: 0.5})
    command, place = [sys.executable, "-m", "rollscope"], ["--dir", str(tmp_path / "runs")]
    follow = subprocess.Popen(
        [*command, "import", str(file), "--follow", "--every", "0.05", *place], stdout=subprocess.PIPE, text=True
    )
    assert follow.stdout is not None and "1 values" in follow.stdout.readline()
    assert rs.open(tmp_path / "runs").run().state == "running"
    watch = subprocess.Popen(
        [*command, "watch", "--json", "--every", "0.05", "--metric", "a", *place], stdout=subprocess.PIPE, text=True
    )
    assert watch.stdout is not None
    first = json.loads(watch.stdout.readline())
    assert first["state"] == "running" and first["metrics"] == {"a": 0.5}
    with file.open("a") as more:
        more.write('{"step": 2, "a": 0.25}\n')
    seen = json.loads(watch.stdout.readline())
    while seen["metrics"] != {"a": 0.25}:
        seen = json.loads(watch.stdout.readline())
    assert seen["state"] == "running" and seen["step"] == 2
    follow.terminate()
    assert follow.wait() == 143
    assert json.loads(watch.stdout.readlines()[-1])["state"] == "finished" and watch.wait() == 0
    follow.stdout.close()
    watch.stdout.close()
