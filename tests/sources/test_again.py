"""Import again, import while files grow, and import a folder that holds more than logs."""

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


def reported(report: Any, word: str) -> bool:
    print(*report.skipped, sep="\n")  # shown if the test fails
    return any(word in str(item) for item in report.skipped)


def test_a_file_given_twice_is_imported_once(tmp_path: Path, imported: Any) -> None:
    file = lines(tmp_path / "log.jsonl", {1: 0.5, 2: 0.25})
    report = imported.take(file, file, tmp_path)
    assert [run["values"] for run in report.runs.values()] == [2] and len(imported.table("metrics")) == 0
    assert imported.run().metrics()["count"].tolist() == [2]


def test_runs_of_rollscope_in_an_imported_folder_are_left_out(tmp_path: Path, imported: Any) -> None:
    with rs.init(id="ours", dir=tmp_path / "work" / "runs", host=False) as run:
        run.log_samples(step=0, samples=[{"id": "s", "prompt": "p", "completion": "c", "reward": 1.0}])
    logs.seal(str(tmp_path / "work" / "runs" / "ours"))
    lines(tmp_path / "work" / "log.jsonl", {1: 0.5})
    report = imported.take(tmp_path / "work")
    assert [Path(file).name for file in report.files] == ["log.jsonl"] and report.skipped == []
    assert reported(imported.take(tmp_path / "work" / "runs" / "ours"), "needs no import")


def test_a_pipe_in_a_folder_does_not_block_an_import(tmp_path: Path, imported: Any) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    lines(tmp_path / "log.jsonl", {1: 0.5})
    report = imported.take(tmp_path)
    assert [Path(file).name for file in report.files] == ["log.jsonl"]
    assert reported(imported.take(tmp_path / "pipe.jsonl"), "neither a file nor a folder")


@pytest.mark.parametrize("merged", [False, True])
def test_a_rewritten_file_replaces_its_sealed_rows(tmp_path: Path, imported: Any, merged: bool) -> None:
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
    assert reported(imported.take(file), "rewritten") and imported.series("a") == {0: 100.0, 1: 200.0}
    with file.open("a") as more:
        more.write('{"step": 2, "a": 300.0}\n')
    imported.take(file)
    assert imported.series("a") == {0: 100.0, 1: 200.0, 2: 300.0}


def test_a_rewritten_file_with_the_same_first_bytes_is_read_from_the_start(tmp_path: Path, imported: Any) -> None:
    same = "x" * 80  # longer than the stored first bytes of a file
    file = lines(tmp_path / "log.jsonl", {1: 1.0, 2: 2.0}, same)
    imported.take(file)
    lines(file, {1: 1.5, 2: 2.25, 3: 3.125}, same)
    assert reported(imported.take(file), "rewritten") and imported.series(same) == {1: 1.5, 2: 2.25, 3: 3.125}


def test_a_rewritten_table_is_read_from_the_start_and_a_longer_one_is_continued(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "log.csv"
    file.write_text("step,loss\n1,0.5\n2,0.25\n")
    imported.take(file)
    file.write_text("step,loss\n1,0.5\n2,0.25\n3,0.125\n")
    report = imported.take(file)
    assert [run["values"] for run in report.runs.values()] == [1] and report.skipped == []
    file.write_text("step,loss\n1,5\n2,4\n3,3\n4,2\n")
    assert reported(imported.take(file), "rewritten") and imported.series("loss") == {1: 5.0, 2: 4.0, 3: 3.0, 4: 2.0}


def test_a_trackio_run_recorded_again_under_its_name_is_read_from_the_start(tmp_path: Path, imported: Any) -> None:
    def recorded(values: list[float], day: int) -> Path:
        path = tmp_path / "project.db"
        path.unlink(missing_ok=True)
        columns = "id integer primary key, timestamp text, run_name text, step integer, metrics text"
        with sqlite3.connect(path) as db:
            db.execute(f"create table metrics ({columns})")
            db.execute("create table configs (id integer primary key, run_name text, config text)")
            times = [f"2026-01-{day:02}T00:00:{i:02}" for i in range(len(values))]
            rows = [(times[i], "r", i, json.dumps({"loss": value})) for i, value in enumerate(values)]
            db.executemany("insert into metrics (timestamp, run_name, step, metrics) values (?, ?, ?, ?)", rows)
        db.close()
        return path

    imported.take(recorded([3.0, 2.0, 1.0], day=1))
    assert imported.series("loss") == {0: 3.0, 1: 2.0, 2: 1.0}
    assert reported(imported.take(recorded([30.0, 20.0], day=2)), "recorded again")
    assert imported.series("loss") == {0: 30.0, 1: 20.0}


def test_a_file_whose_path_is_not_valid_text_is_imported(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/log.jsonl", "w") as file:
        file.write('{"step": 1, "a": 0.5}\n{damaged\n')
    for new in ("1 value is new", "nothing is new"):
        command = [sys.executable, "-m", "rollscope", "import", str(tmp_path), "--dir", str(tmp_path / "runs")]
        env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        assert done.returncode == 0 and done.stderr == "" and new in done.stdout
    assert rs.open(tmp_path / "runs").run().series("a")["value"].tolist() == [0.5]


def test_a_damaged_import_state_leads_to_a_full_import(tmp_path: Path, imported: Any) -> None:
    file = lines(tmp_path / "log.jsonl", {1: 0.5, 2: 0.25})
    imported.take(file)
    (sidecar,) = imported.root.glob("*/*.import.json")
    sidecar.write_text('{"seq": 1, "fil')
    assert [run["values"] for run in imported.take(file).runs.values()] == [2]
    assert imported.series("a") == {1: 0.5, 2: 0.25} and imported.run().metrics()["count"].tolist() == [2]


def test_many_small_files_of_one_run_are_imported_once_each(tmp_path: Path, imported: Any) -> None:
    folder = tmp_path / "out" / "completions"
    folder.mkdir(parents=True)
    for step in range(1, 301):
        table = pa.table({"step": [step], "prompt": ["p"], "completion": ["c"], "reward": [1.0], "advantage": [0.0]})
        pq.write_table(table, folder / f"completions_{step:05}.parquet")
    assert [run["rows"] for run in imported.take(tmp_path / "out").runs.values()] == [300]
    assert [run["rows"] for run in imported.take(tmp_path / "out").runs.values()] == [0]
    assert len(imported.run().samples(columns=["id"])["id"]) == 300


def test_a_followed_file_is_a_running_run_that_watch_follows_to_its_end(tmp_path: Path) -> None:
    file = lines(tmp_path / "log.jsonl", {1: 0.5})
    command, often = [sys.executable, "-m", "rollscope"], ["--dir", str(tmp_path / "runs"), "--every", "0.05"]
    following = [*command, "import", str(file), "--follow", *often]
    follow = subprocess.Popen(following, stdout=subprocess.PIPE, text=True)
    assert follow.stdout is not None and "1 value is new" in follow.stdout.readline()
    assert rs.open(tmp_path / "runs").run().state == "running"
    watch = subprocess.Popen([*command, "watch", "--json", "--metric", "a", *often], stdout=subprocess.PIPE, text=True)
    assert watch.stdout is not None
    first = json.loads(watch.stdout.readline())
    assert first["state"] == "running" and first["metrics"] == {"a": 0.5}
    with file.open("a") as more:
        more.write('{"step": 2, "a": 0.25}\n')
    status = json.loads(watch.stdout.readline())
    while status["metrics"] != {"a": 0.25}:
        status = json.loads(watch.stdout.readline())
    assert status["state"] == "running" and status["step"] == 2
    follow.terminate()
    assert follow.wait() == 143
    assert json.loads(watch.stdout.readlines()[-1])["state"] == "finished" and watch.wait() == 0
    follow.stdout.close()
    watch.stdout.close()
