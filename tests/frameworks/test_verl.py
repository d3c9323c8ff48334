"""veRL's own tracking and metric code: Rollscope stores what its file logger writes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.store import store as rs  # the stored series, without derived ones

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".venvs" / "verl" / "bin" / "python"
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


@pytest.fixture(scope="module", params=["entry point", "environment variable", "0.8"])
def out(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verl")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    if request.param == "entry point":
        about = folder / "site" / "rollscope-0.dist-info"  # as an installed package has it
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rollscope\nVersion: 0\n")
        (about / "entry_points.txt").write_text(_entry_points())
        env["PYTHONPATH"] += os.pathsep + str(folder / "site")
    else:
        env |= {"VERL_USE_EXTERNAL_PLUGINS": "none", "VERL_USE_EXTERNAL_MODULES": "rollscope.sources.verl.plugin"}
    if request.param == "0.8":
        env["PYTHONPATH"] += os.pathsep + str(ROOT / ".venvs" / "verl08")
    done = subprocess.run([PYTHON, HERE / "verl_run.py", folder], env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rollscope:" not in done.stderr, done.stderr[-3000:]
    (folder / "console.log").write_text(done.stdout)
    (folder / "version").write_text("0.8" if request.param == "0.8" else "0.9")
    return folder


def _entry_points() -> str:
    import tomllib

    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    sections = [
        [f"[{group}]", *(f"{name} = {where}" for name, where in points.items())] for group, points in groups.items()
    ]
    return "\n".join(line for section in sections for line in section)


def logged(out: Path) -> dict[str, dict[int, float]]:
    """The numbers in the file of veRL's file logger, which writes null for what JSON lacks."""
    values: dict[str, dict[int, float]] = {}
    for line in (out / "logged.jsonl").read_text().splitlines():
        entry = json.loads(line)
        for name, value in entry["data"].items():
            if isinstance(value, int | float):
                values.setdefault(name, {})[entry["step"]] = float(value)
    return values


def stored(run: Any, name: str) -> dict[int, float]:
    series = run.series(name)
    return dict(zip(series["step"].tolist(), series["value"].tolist(), strict=True))


def test_every_key_that_verl_logged_is_stored_with_its_value(out: Path) -> None:
    run, expected = rs.open(out / "runs").run(), logged(out)
    assert len(expected) > 30
    for name, values in expected.items():
        tolerance = 1e-7 if name == "actor/lr" else 0  # orjson writes a float32 in fewer digits
        assert stored(run, name) == pytest.approx(values, rel=tolerance, abs=0), name
    assert set(run.metrics()["name"]) == set(expected) | {"odd"}
    assert stored(run, "odd") == dict.fromkeys(range(1, 6), np.inf)


def test_the_run_has_its_facts(out: Path) -> None:
    run = rs.open(out / "runs").run()
    record = run.record()
    assert (record["project"], record["name"]) == ("countdown", "grpo-1")
    assert (record["state"], record["algorithm"]) == ("finished", "grpo")
    assert record["framework"].startswith(f"verl@{(out / 'version').read_text()}")
    assert run.config["trainer"]["project_name"] == "p"


def test_losses_that_the_older_version_sums_are_flagged(out: Path) -> None:
    from rollscope.catalog.names.resolve import resolve

    meaning = resolve("actor/pg_loss", rs.open(out / "runs").run().record()["framework"])
    assert meaning.via is not None and ("sum" in meaning.via.note) == ((out / "version").read_text() == "0.8")


def test_timings_are_spans_and_validation_generations_samples(out: Path) -> None:
    run = rs.open(out / "runs").run()
    spans = run.spans()
    seconds = dict(zip(spans["name"], (spans["end_ns"] - spans["start_ns"]) / 1e9, strict=True))
    assert seconds == pytest.approx({"step": 2.0, "gen": 1.0, "update_actor": 0.5})
    columns = ["prompt", "completion", "score", "split"]
    samples = run.samples(columns=columns)
    rows = list(zip(*(samples[column] for column in columns), strict=True))
    assert rows == [("2+2", "4", 1.0, "eval"), ("3+3", "7", 0.0, "eval")]


def test_console_lines_and_the_log_file_give_the_same_series(out: Path, tmp_path: Path) -> None:
    from rollscope.sources.intake.importer import Importer

    expected = logged(out)
    for file in ("console.log", "logged.jsonl"):
        importer = Importer(tmp_path / file)
        importer.take([out / file])
        importer.close()
        run = rs.open(tmp_path / file).run()
        assert run.record()["framework"] == "verl"
        for name, values in expected.items():
            assert stored(run, name) == pytest.approx(values, rel=1e-7), name
