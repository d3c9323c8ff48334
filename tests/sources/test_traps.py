"""The catalogue's note on a number is shown on the run, in the terminal and on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rollscope.cli import main

GOLDEN = Path(__file__).parents[1] / "golden"
TRAPS = [  # framework, a row that identifies it, the series, a phrase of its note
    ("verl", {"actor/pg_loss": 1.0, "response_length/clip_ratio": 0.5}, "response_length/clip_ratio", "padded width"),
    ("rlinf", {"train/actor/policy_loss": 1, "train/actor/clip_fraction": 7}, "train/actor/clip_fraction", "up to 35"),
    (
        "trinity",
        {"rollout/finished_task_count": 8, "eval/math/accuracy/mean@4": 0.5},
        "eval/math/accuracy/mean@4",
        "drops failed runs",
    ),
    ("trl:ppo", {"objective/rlhf_reward": 1, "policy/approxkl_avg": 0.1}, "policy/approxkl_avg", "never fills"),
]


@pytest.mark.parametrize(("framework", "row", "name", "word"), [pytest.param(*trap, id=trap[0]) for trap in TRAPS])
def test_a_known_trap_is_a_note_on_the_imported_series(
    framework: str, row: dict[str, float], name: str, word: str, tmp_path: Path, imported: Any, capsys: Any
) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps({"step": i, **row}) + "\n" for i in range(3)))
    imported.take(file)
    assert imported.run().record()["framework"].startswith(framework)
    assert any(note["text"].startswith(f"{name}: ") and word in note["text"] for note in imported.table("notes"))
    assert main(["show", "--dir", str(imported.root)]) == 0
    assert word in " ".join(capsys.readouterr().out.split())


def test_the_minimum_that_is_a_mean_of_minimums_is_flagged_for_the_page_too(imported: Any) -> None:
    from rollscope.views.metric_info import info

    imported.take(GOLDEN / "trl" / "grpo" / "log_history.json")
    framework = imported.run().record()["framework"]
    entry = info("completions/min_length", "", 1, 1.0, 1, framework, {})
    assert "mean of their extremes" in entry["note"]
    assert any("completions/min_length: " in note["text"] for note in imported.table("notes"))


def test_the_loss_of_verl_0_8_is_a_sum_and_another_quantity() -> None:
    from rollscope.views.metric_info import info

    old, new = (info("actor/pg_loss", "", 1, 1.0, 1, framework, {}) for framework in ("verl@0.8.0", "verl@0.9.1"))
    assert "summed" in old["differs"] and not new["differs"]
