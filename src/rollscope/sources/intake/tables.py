"""Tables of generated text that trackers keep, as samples: TRL's completions, veRL's validation generations, OpenRLHF's samples.

Each framework has columns of its own; a table that has neither a prompt nor a completion by any of those names is no table of samples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .gather import number

PROMPT = ("prompt", "input", "query", "question")
COMPLETION = ("completion", "output", "response", "model response", "text", "generation")
REWARD = ("reward", "score", "scores")
STEP = ("step", "global_step", "rollscope/step")
TAKEN = (
    *PROMPT,
    *COMPLETION,
    *REWARD,
    *STEP,
    "advantage",
    "id",
    "group",
    "stop_reason",
    "discard_reason",
    "trained",
    "completion_tokens",
    "rewards",
    "answer",
    "gts",
    "ground_truth",
)
NUMBERED = re.compile(r"(input|output|score)_(\d+)")


def samples(
    columns: Sequence[str], data: Sequence[Sequence[Any]], id: str, step: int, time_ns: int
) -> Iterator[dict[str, Any]]:
    """Samples of a table; nothing when it is another kind of table."""
    numbered = [NUMBERED.fullmatch(column) for column in columns]
    for row, cells in enumerate(data):
        if any(numbered):
            yield from _numbered(columns, cells, f"{id}/{row}", step, time_ns)
        else:
            found = sample(dict(zip(columns, cells, strict=False)), f"{id}/{row}", step, time_ns)
            if found is not None:
                yield found


def _numbered(
    columns: Sequence[str], cells: Sequence[Any], id: str, step: int, time_ns: int
) -> Iterator[dict[str, Any]]:
    """veRL writes one row per step, with columns input_1, output_1, score_1, input_2, ..."""
    by_number: dict[int, dict[str, Any]] = {}
    at = step
    for column, cell in zip(columns, cells, strict=False):
        if match := NUMBERED.fullmatch(column):
            by_number.setdefault(int(match[2]), {})[match[1]] = cell
        elif column == "step" and number(cell) is not None:
            at = int(cell)
    for i, cell in by_number.items():
        if (found := sample(cell, f"{id}/{i}", at, time_ns)) is not None:
            yield {**found, "split": "eval"}


def sample(cell: Mapping[str, Any], id: str, step: int, time_ns: int) -> dict[str, Any] | None:
    """One row by column name. A number in a column of no known name is a reward function's, anything else is kept beside."""
    low = {name.lower(): value for name, value in cell.items()}
    prompt, completion = (_first(low, names) for names in (PROMPT, COMPLETION))
    if prompt is None and completion is None:
        return None
    rewards = {name: value for name, value in cell.items() if name.lower() not in TAKEN and number(value) is not None}
    rewards |= _mapping(low.get("rewards"))
    extra = {
        name: value
        for name, value in cell.items()
        if name.lower() not in TAKEN and name not in rewards and value is not None
    }
    at = number(_first(low, STEP))
    found: dict[str, Any] = {
        "id": str(low.get("id") or id),
        "step": step if at is None else int(at),
        "time_ns": time_ns,
    }
    found |= {
        "prompt": text(prompt),
        "completion": text(completion),
        "reward": number(_first(low, REWARD)),
        "advantage": number(low.get("advantage")),
    }
    found |= {
        name: low[name] for name in ("group", "stop_reason", "discard_reason", "trained") if low.get(name) is not None
    }
    answer = _first(low, ("answer", "gts", "ground_truth"))
    return {
        **found,
        "rewards": rewards or None,
        "extra": extra or None,
        "answer": None if answer is None else text(answer),
    }


def _first(low: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((low[name] for name in names if low.get(name) is not None), None)


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """Messages are joined, one after the other; anything else that is no text is written as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(m, Mapping) and "content" in m for m in value):
        return "\n".join(str(m["content"]) for m in value)
    return json.dumps(value, ensure_ascii=False, default=str)
