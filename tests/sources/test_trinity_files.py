"""Trinity-RFT's buffers: experiences become samples, and a pickle that needs more is refused."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rollscope.sources.trinity.pickled import Refused, experience
from tests.recorded import held, recorded

GOLDEN = Path(__file__).parents[1] / "golden" / "trinity" / "explorer_output.db"


def test_experiences_of_the_sql_buffer_are_samples(imported: Any) -> None:
    imported.take(GOLDEN)
    samples = imported.table("samples")
    db = sqlite3.connect(GOLDEN)
    stored = db.execute("select count(*), sum(reward) from pipeline_input").fetchone()
    db.close()
    assert len(samples) == stored[0] and sum(s.get("reward") or 0 for s in samples) == pytest.approx(stored[1])
    assert recorded(imported.run()) == held("trinity")
    first = samples[0]
    assert len(first["token_ids"]) == first["completion_tokens"] and first["policy_version_min"] is not None
    assert imported.take(GOLDEN).runs[imported.ids()[0]] == {"values": 0, "rows": 0}


class Evil:
    def __reduce__(self) -> Any:
        return (os.system, ("touch /tmp/rollscope-was-here",))


@pytest.mark.parametrize(
    "thing", [Evil(), {"a": Evil()}, [1, 2], print], ids=["call", "nested call", "not an experience", "a function"]
)
def test_a_pickle_that_needs_more_is_refused(thing: Any) -> None:
    with pytest.raises(Refused):
        experience(pickle.dumps(thing))


@pytest.mark.parametrize("blob", [b"", b"\x80\x04", b"garbage", pickle.dumps(1)[:-1]])
def test_bytes_that_are_not_a_pickle_are_a_value_error(blob: bytes) -> None:
    with pytest.raises(ValueError, match="experience"):
        experience(blob)


def test_a_bad_row_is_reported_and_the_others_are_imported(tmp_path: Path, imported: Any) -> None:
    path = tmp_path / "explorer_output.db"
    path.write_bytes(GOLDEN.read_bytes())
    db = sqlite3.connect(path)
    (before,) = db.execute("select count(*) from pipeline_input").fetchone()
    columns = "task_id, run_id, msg_id, model_version, experience_bytes, reward, consumed"
    insert = f"insert into pipeline_input ({columns}) values ('x', 0, 'm', 1, ?, 0, 0)"
    db.execute(insert, (pickle.dumps(Evil()),))
    db.commit()
    db.close()
    report = imported.take(path)
    assert len(imported.table("samples")) == before and "system" in str(report.skipped[0])
    assert not Path("/tmp/rollscope-was-here").exists()


def test_the_jsonl_buffer(tmp_path: Path, imported: Any) -> None:
    row = {
        "eid": {"batch": 3, "task": 1, "run": 0, "step": 0},
        "type": "single_turn",
        "prompt_length": 4,
        "response_length": 7,
        "prompt_text": "q",
        "response_text": "a",
        "info": {"model_version": 2},
        "metrics": {"accuracy": 1.0},
        "reward": 0.5,
        "truncate_status": "response_truncated",
    }
    (tmp_path / "experience_buffer.jsonl").write_text(json.dumps(row) + "\n")
    imported.take(tmp_path)
    (sample,) = imported.table("samples")
    assert (sample["step"], sample["group"], sample["reward"]) == (3, "3/1", 0.5)
    assert (sample["policy_version_min"], sample["stop_reason"]) == (2, "length")
    assert json.loads(sample["sample_metrics"]) == {"accuracy": 1.0} and sample["completion_tokens"] == 7
