"""Telescope's archives and its UI's database hold the same tables and give the same samples."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rollscope.sources import Mark, telescope
from tests.recorded import held, recorded


def compressed(text: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text.encode())
    return sink.getvalue().to_pybytes()


def tables(samples: int = 2) -> dict[str, list[dict[str, Any]]]:
    """One step: a kept group of two turns with a tool call, and a discarded group.

    Also one trainer span, two step metrics and one GPU reading.
    """
    ids, group = range(samples), {"step": 1, "group_id": 7}
    timing = {"num_generations": 2, "compute_reward_time": 0.1, "off_policy_steps": 1}
    call = {"generation_idx": 0, "tool_call_idx": 0, "tool_name": "calc", "arguments": "{}", "success": False}
    discarded = {"trainer_step": 1, "group_id": 8, "sample_id": 50, "reward": 0.0, "num_generations": 1}
    forward = {"event_type": "forward", "step": 1, "rank": 0, "microbatch": 0, "minibatch": -1}
    return {
        "prompts": [{**group, "env": "math", "prompt": "2+2", "tokens_prompt": 3}],
        "samples_data": [{**group, "sample_id": i, "reward": float(i), "advantage": i - 0.5, **timing} for i in ids],
        "generations": [{**group, "sample_id": i, **generation(g)} for i in ids for g in (0, 1)],
        "tool_calls": [{**group, "sample_id": 0, **call, "result": compressed("4")}],
        "rollouts_metrics": [{"step": 1, "sample_id": 0, "env": "math", "metric_name": "format", "value": 1.0}],
        "samples_data_discarded": [
            {**discarded, "timestamp": 100.0, "discard_reason": "zero_advantage", "raw_string": compressed("raw")}
        ],
        "trainer": [{**forward, "start_time": 10.0, "end_time": 10.5}],
        "step_metrics": [
            {"step": 1, "metric_name": "policy", "section": "loss", "group": "actor", "value": 0.25},
            {"step": 1, "metric_name": "entropy", "section": "General", "group": "", "value": 2.0},
        ],
        "gpu": [{"timestamp": 11.0, "node_id": 0, "gpu_index": 3, "metric_name": "gpu_power_w", "value": 300.0}],
    }


def generation(index: int) -> dict[str, Any]:
    reason = "length" if index else "stop"
    return {"generation_idx": index, "content": compressed(f"turn {index}"), "tokens": 5, "stop_reason": reason}


def archive(path: Path, content: dict[str, list[dict[str, Any]]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for name, rows in content.items():
            buffer = io.BytesIO()
            pq.write_table(pa.Table.from_pylist(rows), buffer)
            file.writestr(f"{name}.parquet", buffer.getvalue())
    return path


def database(path: Path) -> Path:
    db = duckdb.connect(str(path))
    db.execute("create table runs (run_id text, name text, project text, config_json text)")
    db.execute("insert into runs values ('e/p/x', 'first', 'p', '{\"lr\": 0.1}')")
    renamed = {"trainer": "events_trainer", "gpu": "system_metrics_gpu"}
    for name, rows in tables().items():
        arrow = pa.Table.from_pylist([{"run_id": "e/p/x", **row} for row in rows])
        assert arrow.num_rows
        db.execute(f"create table {renamed.get(name, name)} as select * from arrow")
    db.close()
    return path


@pytest.mark.parametrize("form", ["archive", "database"])
def test_samples_turns_spans_and_metrics(form: str, tmp_path: Path, imported: Any) -> None:
    if form == "archive":
        path = archive(tmp_path / "run1" / "steps" / "block_0.zip", tables())
    else:
        path = database(tmp_path / "telescope.duckdb")
    imported.take(path)
    samples = {s["id"]: s for s in imported.table("samples")}
    first, second, discarded = samples["0"], samples["1"], samples["50"]
    assert first["completion"] == "turn 0\nturn 1" and first["stop_reason"] == "length" and first["trained"] is True
    assert first["tool_calls"] == first["tool_failures"] == 1
    assert second["prompt"] == "2+2" and second["completion_tokens"] == 10
    assert (discarded["discard_reason"], discarded["completion"], discarded["step"]) == ("zero_advantage", "raw", 1)
    turns = [(t["role"], t.get("tool")) for t in imported.table("turns") if t["sample"] == "0"]
    assert turns == [("assistant", None), ("tool", "calc"), ("assistant", None)]
    (span,) = imported.table("spans")
    assert (span["name"], span["end_ns"] - span["start_ns"]) == ("forward", 500_000_000)
    assert span["microbatch"] == 0 and "minibatch" not in span
    assert imported.series("loss/actor/policy") == {1: 0.25} and imported.series("entropy") == {1: 2.0}
    assert imported.table("host")[0]["device"] == "gpu3"
    assert recorded(imported.run()) == held("telescope") - {"evaluations"}
    assert imported.take(path).runs[imported.ids()[0]] == {"values": 0, "rows": 0}


def test_an_archive_that_grew_adds_only_new_rows(tmp_path: Path, imported: Any) -> None:
    path = archive(tmp_path / "run1" / "steps" / "block_live.zip", tables())
    imported.take(path)
    report = imported.take(archive(path, tables(3)))
    assert next(iter(report.runs.values()))["rows"] == 3  # one sample and its two turns
    assert sorted(s["id"] for s in imported.table("samples")) == ["0", "1", "2", "50"]


def test_a_damaged_archive_is_reported(tmp_path: Path, imported: Any) -> None:
    path = archive(tmp_path / "run1" / "steps" / "tail.zip", tables())
    path.write_bytes(path.read_bytes()[:400])
    assert "the archive is damaged" in str(imported.take(path).skipped[0])


def test_rows_that_several_archives_repeat_are_taken_once(tmp_path: Path, imported: Any) -> None:
    steps = tmp_path / "run1" / "steps"
    for name in ("tail.zip", "block_live.zip"):
        archive(steps / name, tables())
    imported.take(tmp_path)
    (steps / "block_live.zip").rename(steps / "block_0.zip")
    archive(steps / "block_live.zip", tables(3))
    (steps / "block_1.zip").write_bytes(b"PK damaged")
    report = imported.take(tmp_path)
    assert ["block_1.zip" in str(one) and "the archive is damaged" in str(one) for one in report.skipped] == [True]
    assert sorted(s["id"] for s in imported.table("samples")) == ["0", "1", "2", "50"]
    assert len(imported.table("spans")) == len(imported.table("host")) == 1
    assert len(imported.table("turns")) == 7 and imported.series("entropy") == {1: 2.0}


def as_written(folder: Path) -> Path:
    """Archives as Telescope's own writer makes them, schema 0.3.0.

    `metrics.parquet` has a column `metric`, and a full generation ends with `max_tokens`.
    """
    sample = {"step": 3, "group_id": 7, "sample_id": 70}
    prompt = {"prompt": "2+2", "tokens_prompt": 3, "system_prompt": "", "tokens_system_prompt": 0}
    score = {"reward": 1.0, "advantage": 0.5, "num_generations": 1, "total_tokens": 9, "off_policy_steps": 0}
    generated = {"content": compressed("4"), "tokens": 6, "stop_reason": "max_tokens"}
    turn = {"step": 3, "sample_id": 70, "agent_id": 0, "generation_idx": 0, "turn_type": "generation", "env": "m"}
    steps = {
        "prompts": [{"step": 3, "group_id": 7, "env": "math", **prompt}],
        "samples_data": [{**sample, **score}],
        "generations": [{**sample, "agent_id": 0, "generation_idx": 0, **generated}],
        "sample_tags": [{"step": 3, "sample_id": 70, "env": "math", "tag_name": "level", "tag_value": "easy"}],
        "metrics": [{"step": 3, "section": "", "group": "", "metric": "grad_norm", "value": 0.5}],
        "turn_metrics": [{**turn, "metric_name": "x", "value": 1.0}],
    }
    ids = {"group_id": 7, "sample_id": 70, "agent_id": 0, "generation_idx": 0, "tool_call_idx": -1}
    event = {"event_type": "generation", **ids, "server_id": 1, "server_lane": 4}
    task = {"step": 5, "eval_name": "gsm8k", "sample_idx": 2, "sample_id": 900}
    tried = {**task, "completion_idx": 1}
    answer = {"generation_idx": 0, "content": compressed("6"), "tokens": 2, "stop_reason": "eos"}
    events = {
        "events_rollout": [
            {"timestamp": 10.0, "phase": "start", **event},
            {"timestamp": 12.5, "phase": "end", **event},
            {"timestamp": 30.0, "phase": "start", **event, "event_type": "tool", "server_id": 0},
            {"timestamp": 31.0, "phase": "end", **event, "event_type": "tool", "server_id": 0},
        ],
        "events_infra": [
            {"timestamp": 20.0 + i, "event_type": "weight_sync", "phase": p, "step": 3, "server_id": 0}
            for i, p in enumerate(("start", "end"))
        ],
        "prompts_eval": [{**task, "env": "gsm8k", "prompt": "3+3", "tokens_prompt": 4}],
        "generations_eval": [{**tried, **answer}],
        "samples_data_eval": [{**tried, "env": "gsm8k", "num_generations": 1}],
        "rollouts_metrics_eval": [{**tried, "env": "gsm8k", "metric_name": "correct", "value": 1.0}],
    }
    archive(folder / "steps" / "block_live.zip", steps)
    archive(folder / "events" / "block_live.zip", events)
    return folder


def test_an_archive_as_its_own_writer_makes_it(tmp_path: Path, imported: Any) -> None:
    report = imported.take(as_written(tmp_path / "run1"))
    assert not report.skipped and imported.series("grad_norm") == {3: 0.5}
    samples = {s["id"]: s for s in imported.table("samples")}
    assert samples["70"]["stop_reason"] == "length" and samples["70"]["trained"] is True
    assert samples["70"]["tags"] == '["level=easy"]'
    (tried,) = [s for s in samples.values() if s.get("split") == "eval"]
    assert (tried["env"], tried["prompt"], tried["completion"]) == ("gsm8k", "3+3", "6")
    assert tried["sample_metrics"] == '{"correct": 1.0}'
    spans = {s["name"]: s for s in imported.table("spans")}
    generation = spans["generation"]
    assert (generation["lane"], generation["sample"]) == ("inference/1/4", "70")
    assert generation["end_ns"] - generation["start_ns"] == 2_500_000_000
    assert (spans["weight_sync"]["step"], spans["weight_sync"]["lane"]) == (3, "inference/0/0")
    assert spans["weight_sync"]["version"] == spans["tool"]["version"] == 3, "the server has loaded them by then"
    assert generation.get("version") is None and generation["group"] == "7", "server 1 has loaded none"


def test_what_was_taken_is_not_sorted_again_for_each_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run has thousands of archives, so an archive must not cost what all before it held."""
    blocks = 60
    for block in range(blocks):
        content = {"step_metrics": [{"step": block, "metric_name": f"m{i}", "value": 1.0} for i in range(10)]}
        archive(tmp_path / "run1" / "steps" / f"block_{block:02}.zip", content)
    sorts, sizes = sorted, list[int]()

    def counted(values: Any, **more: Any) -> list[Any]:
        sizes.append(len(ordered := sorts(values, **more)))
        return ordered

    monkeypatch.setattr("builtins.sorted", counted)
    *_, mark = telescope.rows(tmp_path / "run1" / "steps", {})
    assert isinstance(mark, Mark) and len(mark.cursor["seen"]) == blocks * 10
    assert sum(sizes) < 4 * blocks * 10
