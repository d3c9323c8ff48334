"""Trackio's databases: rows at the training step, completions as samples, profiling as spans."""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
DB = GOLDEN / "trackio" / "trl-run.db"


def test_series_are_at_the_training_step_and_equal_the_trainers_log(imported: Any) -> None:
    imported.take(DB)
    log = json.loads((GOLDEN / "trl" / "dpo" / "log_history.json").read_text())
    for entry in log:
        for name, value in entry.items():
            key = f"eval/{name[5:]}" if name.startswith("eval_") else f"train/{name}"
            if name in ("step", "total_flos", "train_loss", "epoch") or name.startswith("train_"):
                continue  # the summary is not sent to Trackio
            assert imported.series(key, "dpo-tiny")[entry["step"]] == value, key


def test_completions_are_samples_and_profiling_is_spans(imported: Any) -> None:
    imported.take(DB)
    run = next(id for id in imported.ids() if id.startswith("grpo-nan"))
    samples, spans = imported.table("samples", run), imported.table("spans", run)
    assert {s["step"] for s in samples} == {1, 2, 3, 4} and all(s["prompt"] and s["completion"] for s in samples)
    assert any(s["name"].startswith("GRPOTrainer.") and s["end_ns"] > s["start_ns"] for s in spans)


def test_only_new_rows_are_added_the_second_time(tmp_path: Path, imported: Any) -> None:
    db = sqlite3.connect(tmp_path / "p.db")
    columns = "id integer primary key, timestamp text, run_name text, step integer, metrics text"
    db.execute(f"create table metrics ({columns})")
    db.execute("create table configs (id integer primary key, run_name text, config text)")
    add = "insert into metrics (timestamp, run_name, step, metrics) values ('2026-01-01T00:00:00+00:00', 'r', ?, ?)"
    db.execute(add, (1, '{"loss": 1.0, "odd": "NaN"}'))
    db.commit()
    first = imported.take(tmp_path / "p.db")
    db.execute(add, (2, '{"loss": 0.5}'))
    db.execute(add, (3, "{not json"))
    db.commit()
    second = imported.take(tmp_path / "p.db")
    assert [next(iter(r.runs.values()))["values"] for r in (first, second)] == [2, 1]
    assert "row 3" in str(second.skipped[0])
    assert imported.series("loss") == {1: 1.0, 2: 0.5} and math.isnan(imported.series("odd")[1])
    db.close()


@pytest.mark.parametrize("cut", [0.2, 0.9])
def test_a_damaged_database_is_reported(cut: float, tmp_path: Path, imported: Any) -> None:
    data = DB.read_bytes()
    (tmp_path / "p.db").write_bytes(data[: int(len(data) * cut)])
    report = imported.take(tmp_path / "p.db")
    assert report.skipped and "p.db" in str(report.skipped[0])
