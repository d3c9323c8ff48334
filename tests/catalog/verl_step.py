"""veRL 0.9.1's inputs and outputs of a step, for the tests of balance, time, speed and experts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

VERL: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "verl_step.json").read_text())
LENGTHS = {"prompt_tokens": VERL["prompt_tokens"], "response_tokens": VERL["response_tokens"]}


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-5, abs=1e-5, nan_ok=True)


def agrees(named: dict[str, float], oracle: dict[str, float]) -> bool:
    """Assert that every key of the oracle has its number. A failure shows the keys that differ."""
    assert {key: named.get(key) for key in oracle} == {key: near(value) for key, value in oracle.items()}
    return True
