"""Importing a TRL run's folder gives exactly what its files hold."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.recorded import held, recorded

GOLDEN = Path(__file__).parents[1] / "golden" / "trl"
each_run = pytest.mark.parametrize("run", ["grpo", "dpo", "ppo", "grpo_nan"])


def history(run: str) -> dict[str, dict[int, float]]:
    """The values in the log by name and step. The last entry of a step wins; null is no data."""
    values: dict[str, dict[int, float]] = {}
    for entry in json.loads((GOLDEN / run / "log_history.json").read_text()):
        for name, value in entry.items():
            if name != "step" and value is not None:
                values.setdefault(name, {})[entry["step"]] = float(value)
    return values


@each_run
def test_every_series_of_the_log_is_there_and_nothing_else(run: str, imported: Any) -> None:
    imported.take(GOLDEN / run / "log_history.json")
    expected = history(run)
    assert imported.names() == set(expected)
    for name, values in expected.items():
        assert imported.series(name) == pytest.approx(values, rel=0, abs=0, nan_ok=True), name


def test_the_dialect_has_trainer_and_version(imported: Any) -> None:
    imported.take(GOLDEN)
    records = [imported.run(id).record() for id in imported.ids()]
    dialects = {record["name"]: record["framework"] for record in records}
    expected = {"grpo": "trl:grpo@1.16.0", "dpo": "trl:dpo@1.16.0", "ppo": "trl:ppo@1.12.0"}
    assert {name: dialects[name] for name in expected} == expected


def test_evaluation_is_apart_from_training(imported: Any) -> None:
    imported.take(GOLDEN / "grpo" / "log_history.json")
    run = imported.run()
    assert run.series("eval_reward", split="eval")["step"].tolist() == [10, 20, 25]
    assert run.series("reward", split="train")["step"].tolist() == list(range(1, 26))


def test_importing_again_adds_nothing(imported: Any) -> None:
    first = imported.take(GOLDEN)
    files = {path: path.stat().st_size for path in imported.root.rglob("*.log")}
    again = imported.take(GOLDEN)
    assert sum(run["values"] for run in first.runs.values()) > 2000
    assert all(run == {"values": 0, "rows": 0} for run in again.runs.values())
    assert {path: path.stat().st_size for path in imported.root.rglob("*.log")} == files


def test_a_longer_log_adds_only_its_new_entries(imported: Any, tmp_path: Path) -> None:
    entries = json.loads((GOLDEN / "dpo" / "log_history.json").read_text())
    log = tmp_path / "out" / "log_history.json"
    log.parent.mkdir()
    log.write_text(json.dumps(entries[:4]))
    first = imported.take(log)
    log.write_text(json.dumps(entries))
    second = imported.take(log)
    counts = [next(iter(report.runs.values()))["values"] for report in (first, second)]
    values = [value for entry in entries for name, value in entry.items() if name != "step" and value is not None]
    assert sum(counts) == len(values) and min(counts) > 0
    assert imported.series("loss") == history("dpo")["loss"]


def test_a_rewritten_log_replaces_the_old_one(imported: Any, tmp_path: Path) -> None:
    log = tmp_path / "out" / "log_history.json"
    log.parent.mkdir()
    log.write_text(json.dumps([{"step": 1, "loss": 1.0, "gone": 1.0}, {"step": 2, "loss": 2.0}]))
    imported.take(log)
    log.write_text(json.dumps([{"step": 1, "loss": 5.0}]))
    assert "rewritten" in str(imported.take(log).skipped[0])
    assert imported.series("loss") == {1: 5.0} and imported.names() == {"loss"}


def test_completions_are_samples_with_their_group_and_rewards(imported: Any) -> None:
    imported.take(GOLDEN / "grpo")
    grpo = next(id for id in imported.ids() if "tensorboard" not in id)
    samples = imported.table("samples", grpo)
    first = [s for s in samples if s["step"] == 1]
    assert len(first) == 16 and len({s["group"] for s in first}) == 4
    assert sorted({s["repeat"] for s in first}) == [0, 1, 2, 3]
    rewards = [json.loads(s["rewards"]) for s in first]
    mean = sum(r["digit_reward"] for r in rewards) / 16
    assert mean == pytest.approx(history("grpo")["rewards/digit_reward/mean"][1])
    assert all(s["prompt"] and s["completion"] is not None and not math.isnan(s["advantage"]) for s in first)
    weighted = sum(r["digit_reward"] + 0.5 * r["brevity_reward"] for r in rewards) / 16
    assert weighted == pytest.approx(history("grpo")["reward"][1], rel=1e-6)
    assert recorded(imported.run(grpo)) == held("trl")


def test_of_several_checkpoints_the_last_is_read(imported: Any, tmp_path: Path) -> None:
    entries = json.loads((GOLDEN / "dpo" / "log_history.json").read_text())
    for steps in (4, 10):
        state = tmp_path / "out" / f"checkpoint-{steps}" / "trainer_state.json"
        state.parent.mkdir(parents=True)
        state.write_text(json.dumps({"global_step": steps, "log_history": [e for e in entries if e["step"] <= steps]}))
    report = imported.take(tmp_path / "out")
    assert len(report.runs) == 1 and "checkpoint-10" in str(report.skipped[0])
    assert imported.series("loss") == history("dpo")["loss"]


def test_a_log_that_is_cut_off_is_reported_and_the_rest_is_imported(imported: Any, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / "grpo", tmp_path / "grpo")
    log = tmp_path / "grpo" / "log_history.json"
    log.write_bytes(log.read_bytes()[:1000])
    parquet = tmp_path / "grpo" / "completions" / "completions_00002.parquet"
    parquet.write_bytes(parquet.read_bytes()[:3000])
    report = imported.take(tmp_path / "grpo")
    assert {Path(s.path).name for s in report.skipped} == {"log_history.json", "completions_00002.parquet"}
    assert "not valid JSON" in str(next(s for s in report.skipped if s.path == log))
    assert any("tensorboard" in id for id in report.runs)
    grpo = next(id for id in imported.ids() if "tensorboard" not in id)
    assert {s["step"] for s in imported.table("samples", grpo)} == {1, 10}


def test_known_traps_become_notes_and_no_number_is_changed(imported: Any) -> None:
    imported.take(GOLDEN / "ppo")
    notes = {json.loads(note["data"])["metric"]: note for note in imported.table("notes")}
    note = notes["policy/entropy_avg"]
    assert "num_mini_batches" in note["text"] and note["kind"] == "warning"
    assert imported.series("policy/entropy_avg") == history("ppo")["policy/entropy_avg"]
    assert imported.take(GOLDEN / "ppo").runs[imported.ids()[0]]["rows"] == 0  # noted once
