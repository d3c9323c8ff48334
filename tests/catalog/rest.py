"""The oracle of the rest (veRL 0.9.1): inputs and outputs, shared by the tests of balance, time, performance and experts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

VERL: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "verl_rest.json").read_text())
LENGTHS = {"prompt_tokens": VERL["prompt_tokens"], "response_tokens": VERL["response_tokens"]}


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-5, abs=1e-5, nan_ok=True)


def agrees(named: dict[str, float], oracle: dict[str, float]) -> bool:
    """Every key of the oracle is there with its number; a failure shows which is not."""
    assert {key: named.get(key) for key in oracle} == {key: near(value) for key, value in oracle.items()}
    return True
