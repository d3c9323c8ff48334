"""SkyRL's training batches: what its trainer dumped is what is read, and nothing in a file runs."""

from __future__ import annotations

import io
import json
import os
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.frameworks.skyrl_run import MASKS, PROMPTS, RESPONSES, Engine
from tests.sources.dump_files import GOLDEN

BATCH = GOLDEN / "dumps" / "skyrl" / "dumped_data" / "global_step_3_training_input.pkl"
FILE = BATCH.name
WAS_HERE = Path("/tmp/rollscope-skyrl-was-here")


def samples(imported: Any) -> list[dict[str, Any]]:
    return sorted(imported.table("samples"), key=lambda row: str(row["id"]))


def test_the_batch_that_the_trainer_dumped_is_read_without_its_padding(imported: Any) -> None:
    assert not imported.take(BATCH).skipped
    rows = samples(imported)
    assert [row["id"] for row in rows] == [f"train/3/{i}" for i in range(4)]  # the trainer wrote two more
    assert [[*row["token_ids"]] for row in rows] == RESPONSES
    assert [row["prompt_tokens"] for row in rows] == [*map(len, PROMPTS)]
    assert [row["completion_tokens"] for row in rows] == [*map(sum, MASKS)]
    masks = [[*row["action_mask"]] if "action_mask" in row else None for row in rows]
    assert masks == [None if all(mask) else mask for mask in MASKS]
    said = {"rollout_logp": -0.25, "old_logp": Engine.said["policy"], "ref_logp": Engine.said["ref"]}
    for name, value in said.items():
        assert [[*row[name]] for row in rows] == [[value] * len(one) for one in RESPONSES]
    assert [row["group"] for row in rows] == ["train/3/0"] * 2 + ["train/3/1"] * 2
    assert [row["repeat"] for row in rows] == [0, 1, 0, 1] and rows[0]["task"] != rows[2]["task"]
    for row, sign in zip(rows, (1, -1, 1, -1), strict=True):
        assert row["advantage"] == pytest.approx(sign / 2**0.5, abs=1e-4)
        assert json.loads(row["sample_metrics"]) == {"value": 0.125, "return": row["advantage"]}
        assert row["trained"] and not {"prompt", "completion", "reward"} & row.keys()


class Evil:
    def __reduce__(self) -> Any:
        return os.system, (f"touch {WAS_HERE}",)


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a batch as skyrl-train's class pickles itself."""
    module = ModuleType("skyrl_train.training_batch")
    about = {"__module__": module.__name__, "__getstate__": lambda batch: batch.told}
    kind: Any = type("TrainingInputBatch", (dict,), about)
    module.TrainingInputBatch = kind  # type: ignore[attr-defined]
    for name in ("skyrl_train", module.__name__):
        monkeypatch.setitem(sys.modules, name, module)

    def write(tensors: dict[str, Any], **facts: Any) -> Path:
        batch = kind()
        batch.told = {"batch_dict": tensors, "batch_size": 3, "device": None, "metadata": facts}
        (tmp_path / FILE).write_bytes(pickle.dumps(batch))
        return tmp_path / FILE

    return write


def saved(values: Any, dtype: str = "int64") -> bytes:
    """A tensor as skyrl-train pickles it."""
    import torch

    file = io.BytesIO()
    torch.save(torch.tensor(values, dtype=getattr(torch, dtype)), file)
    return file.getvalue()


def raw(values: Any, dtype: str = "int64", **more: Any) -> dict[str, Any]:
    array = np.array(values, dtype)
    return {"format": "numpy", "data": array.tobytes(), "shape": array.shape, "dtype": dtype, **more}


OLD = {  # prompts are filled up at their beginning, responses at their end
    "sequences": [[0, 1, 6, 7], [2, 3, 8, 0], [2, 3, 9, 9]],
    "attention_mask": [[0, 1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1]],
    "response_mask": [[1, 1], [1, 0], [1, 1]],
    "loss_mask": [[1, 1], [0, 0], [1, 1]],
}


def test_a_batch_of_skyrl_train_has_groups_by_prompt_and_says_what_was_masked(imported: Any, dump: Any) -> None:
    logp = saved([[-0.5, -0.25], [-1.0, 0.0], [-0.5, -0.5]], "bfloat16")
    rewards = saved([[0.0, 1.0], [0.5, 0.0], [0.0, 0.0]], "float32")
    tensors = {name: saved(values) for name, values in OLD.items()}
    file = dump({**tensors, "action_log_probs": logp, "rewards": rewards, "values": None}, is_last_step=[True, False])
    assert not imported.take(file).skipped
    one, masked, other = samples(imported)
    assert [[*row["token_ids"]] for row in (one, masked, other)] == [[6, 7], [8], [9, 9]]
    assert [[*row["old_logp"]] for row in (one, masked, other)] == [[-0.5, -0.25], [-1.0], [-0.5, -0.5]]
    assert [row["reward"] for row in (one, masked, other)] == [1.0, 0.5, 0.0]
    assert one["group"] != masked["group"] == other["group"] and other["repeat"] == 1
    assert (masked["trained"], masked["discard_reason"]) == (False, "masked") and "completion_tokens" not in masked
    assert [row.get("extra") for row in (one, masked, other)] == [
        '{"is_last_step": true}',
        '{"is_last_step": false}',
        None,
    ]


def test_nothing_in_a_batch_runs(imported: Any, dump: Any, tmp_path: Path) -> None:
    """An object of somebody else stands for nothing; the tensors beside it are read."""
    tensors = {name: raw(values) for name, values in OLD.items()}
    imported.take(dump({**tensors, "pixel_values": Evil()}, metrics=Evil()))
    assert len(samples(imported)) == 3
    for i, content in enumerate((Evil(), [Evil()], {"batch_dict": Evil()})):
        file = tmp_path / f"global_step_{i}_training_input.pkl"
        file.write_bytes(pickle.dumps(content))
        (skipped,) = imported.take(file).skipped
        assert "expected a batch of SkyRL's trainer" in skipped.why
    assert not WAS_HERE.exists()


BAD = {  # what it says -> a tensor that is changed
    "it has no tensor 'response_mask'": ("response_mask", Evil()),
    "the shapes (2, 3), (3, 2)": ("loss_mask", raw([[1] * 3] * 2)),
    "its tokens are float64 numbers": ("sequences", raw(np.zeros((3, 4)), "float64")),
    "more tokens than its whole sequence": ("attention_mask", raw(np.zeros((3, 4)))),
    "a tensor of 'object'": ("sequences", raw(OLD["sequences"], dtype="int64") | {"dtype": "object"}),
    "cannot reshape array": ("sequences", raw(OLD["sequences"], shape=(10**9, 10**9))),
    "the file of torch.save is damaged": ("sequences", saved(OLD["sequences"])[:-30]),
}


@pytest.mark.parametrize("says", BAD)
def test_a_batch_that_does_not_fit_together_is_refused_with_a_sentence(says: str, imported: Any, dump: Any) -> None:
    name, changed = BAD[says]
    (skipped,) = imported.take(dump({**{one: raw(values) for one, values in OLD.items()}, name: changed})).skipped
    assert says in skipped.why and not imported.ids()


def test_facts_of_any_kind_are_no_groups(imported: Any, dump: Any) -> None:
    """Bounds, lengths and marks that are none do not stop the reading."""
    tensors = {name: raw(values) for name, values in OLD.items()}
    odd: list[Any] = [None, "x", -7, 10**30, [[]], [["a", 1]], [(1, 2), (2, 3)], {"a": 1}, float("nan")]
    for one in odd:
        report = imported.take(dump(tensors, policy_prompt_boundaries=one, pad_size=one, is_last_step=one))
        assert not any("Please report" in str(item) for item in report.skipped)
