"""The rule that `verl_vllm_run.py` gives to veRL as its reward function."""

from __future__ import annotations

from typing import Any


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **_: Any) -> Any:
    """The share of letters before `n`; and as a further part whether a tool was called."""
    early = sum(letter < "n" for letter in solution_str)
    return {"score": early / max(1, len(solution_str)), "called": float("tool_call" in solution_str)}
