"""`rollscope export --dialect`: a framework's names and units, in every format that has metrics."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import rollscope as rs
from rollscope.cli import main

LOGGED = {
    "time_per_token/generate": 0.002,  # s/token
    "length/truncated/trained": 0.25,  # share
    "length/truncated/generated": 0.5,
    "policy/entropy": 1.5,
    "pipeline/out": 8.0,
    "mine/own": 3.0,  # no framework's, no entry
}
SPOKEN = {  # dialect -> name -> last value, unit, recorded as
    "verl": {
        "timing_per_token_ms/gen": (2.0, "ms/token", "time_per_token/generate"),
        "actor/entropy": (1.5, "nats/token", "policy/entropy"),
    },
    "telescope": {
        "stop_reason_length_pct": (25.0, "%", "length/truncated/trained"),
        "entropy": (1.5, "nats/token", "policy/entropy"),
    },
    "trinity": {"experience_pipeline/experience_count": (8.0, "samples", "pipeline/out")},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with rs.init(id="r", dir=tmp_path / "runs", host=False) as run:
        for step in range(3):
            run.log({name: value * (step + 1) / 3 for name, value in LOGGED.items()}, step=step)
    return tmp_path / "runs"


def exported(folder: Path, form: str, dialect: str, *more: str) -> list[dict[str, Any]]:
    out = folder.parent / f"{form}-{dialect}"
    words = ["--dir", str(folder), "--format", form, "--out", str(out), "--dialect", dialect, "--json", *more]
    assert main(["export", "r", *words]) == 0
    if form == "parquet":
        return pq.read_table(out / "metrics.parquet").to_pylist()  # type: ignore[no-any-return]
    if form == "csv":
        with open(out / "metrics.csv", newline="") as file:
            return list(csv.DictReader(file))
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("dialect", SPOKEN)
@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_the_metrics_have_the_names_and_units_of_the_framework(folder: Path, form: str, dialect: str) -> None:
    rows = exported(folder, form, dialect)
    last = {
        row["name"]: (float(row["value"]), row["unit"], row["recorded_as"]) for row in rows if int(row["step"]) == 2
    }
    assert {name: last[name] for name in SPOKEN[dialect]} == {
        name: (pytest.approx(value), unit, stored) for name, (value, unit, stored) in SPOKEN[dialect].items()
    }
    assert last["mine/own"] == (3.0, "", "mine/own")
    assert not last.keys() & {"time_per_token/generate", "length/truncated/generated"}  # no name of theirs
    assert sorted({int(row["step"]) for row in rows}) == [0, 1, 2]


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_an_export_in_a_dialect_is_what_series_answers(folder: Path, form: str) -> None:
    run = rs.open(folder).run("r")
    values: dict[str, list[float]] = {}
    for row in exported(folder, form, "verl"):
        values.setdefault(row["name"], []).append(float(row["value"]))
    assert values == {name: pytest.approx(run.series(name, dialect="verl")["value"].tolist()) for name in values}


def test_the_other_tables_are_as_recorded(folder: Path) -> None:
    exported(folder, "parquet", "verl", "--table", "metrics", "--table", "runs")
    assert pq.read_table(folder.parent / "parquet-verl" / "runs.parquet")["id"].to_pylist() == ["r"]


def test_a_frameworks_run_is_exported_in_anothers_names(tmp_path: Path) -> None:
    with rs.init(id="r", dir=tmp_path / "runs", host=False, framework="verl") as run:
        run.log({"timing_per_token_ms/gen": 2.0, "actor/entropy": 1.5}, step=0)
    rows = exported(tmp_path / "runs", "jsonl", "telescope")
    assert [(row["name"], row["value"]) for row in rows] == [("entropy", 1.5)]


def test_a_trace_has_no_dialect_and_says_so(folder: Path, capsys: Any) -> None:
    out = str(folder.parent / "t.json")
    words = ["--dir", str(folder), "--format", "chrome", "--dialect", "verl", "--out", out]
    assert main(["export", "r", *words]) == 2
    assert "has spans and no metrics" in capsys.readouterr().err and not Path(out).exists()


def test_a_dialect_that_nobody_speaks_is_named(folder: Path, capsys: Any) -> None:
    out = str(folder.parent / "out")
    assert main(["export", "r", "--dir", str(folder), "--format", "csv", "--dialect", "esperanto", "--out", out]) == 2
    assert "'esperanto'" in capsys.readouterr().err
