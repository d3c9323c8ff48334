"""Turn tables of generated text in trackers into samples.

TRL logs completions, veRL validation generations, OpenRLHF samples, each with other column names.
A table without a known prompt or completion column holds no samples.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from .gather import number, spelled, whole

PROMPT = ("prompt", "input", "query", "question")
COMPLETION = ("completion", "output", "response", "model response", "text", "generation")
REWARD = ("reward", "score", "scores")
STEP = ("step", "global_step", "rollscope/step")
ANSWER = ("answer", "gts", "ground_truth")
FATE = ("group", "stop_reason", "discard_reason", "trained")  # kept under their own names
KNOWN = (*PROMPT, *COMPLETION, *REWARD, *STEP, *ANSWER, *FATE, "advantage", "id", "completion_tokens", "rewards")
ROLES: dict[str, tuple[str, ...]] = {
    "prompt": PROMPT,
    "completion": COMPLETION,
    "reward": REWARD,
    "step": STEP,
    "answer": ANSWER,
    **{name: (name,) for name in ("id", "advantage", "rewards", *FATE)},
}
NUMBERED = re.compile(r"(input|output|score)_(\d+)")


def samples(
    columns: Sequence[str], data: Sequence[Sequence[Any]], id: str, step: int, time_ns: int, first: int = 0
) -> Iterator[dict[str, Any]]:
    """The samples in a table; nothing if it holds none. `first` is the number of the first row."""
    numbered = [NUMBERED.fullmatch(column) for column in columns]
    for row, cells in enumerate(data, first):
        if any(numbered):
            yield from _numbered(columns, cells, f"{id}/{row}", step, time_ns)
        elif (one := sample(dict(zip(columns, cells, strict=False)), f"{id}/{row}", step, time_ns)) is not None:
            yield one


def holds_samples(columns: Sequence[str]) -> bool:
    """True if a table with these columns can hold generated text."""
    return any(NUMBERED.fullmatch(name) or name.lower() in (*PROMPT, *COMPLETION) for name in columns)


def _numbered(
    columns: Sequence[str], cells: Sequence[Any], id: str, step: int, time_ns: int
) -> Iterator[dict[str, Any]]:
    """veRL's tables have one row per step, with columns input_1, output_1, score_1, input_2, ..."""
    by_number: dict[int, dict[str, Any]] = {}
    at = step
    for column, cell in zip(columns, cells, strict=False):
        if match := NUMBERED.fullmatch(column):
            by_number.setdefault(int(match[2]), {})[match[1]] = cell
        elif column == "step" and (own := whole(cell)) is not None:
            at = own
    for i, cell in by_number.items():
        if (one := sample(cell, f"{id}/{i}", at, time_ns)) is not None:
            yield {**one, "split": "eval"}


def sample(cell: Mapping[str, Any], id: str, step: int, time_ns: int) -> dict[str, Any] | None:
    """One row, by column name, as a sample; None if it has neither a prompt nor a completion.

    A number in an unknown column is the reward of a function; other unknown columns go to `extra`.
    """
    roles, unknown = _plan(tuple(cell))
    prompt, completion = _first(cell, roles["prompt"]), _first(cell, roles["completion"])
    if prompt is None and completion is None:
        return None
    rewards = {name: cell[name] for name in unknown if number(cell[name]) is not None}
    extra = {name: cell[name] for name in unknown if name not in rewards and cell[name] is not None}
    rewards |= _mapping(_first(cell, roles["rewards"]))
    own_step = whole(_first(cell, roles["step"]))
    read = {
        "id": str(_first(cell, roles["id"]) or id),
        "step": step if own_step is None else own_step,
        "time_ns": time_ns,
        "prompt": text(prompt),
        "completion": text(completion),
        "reward": number(spelled(_first(cell, roles["reward"]))),
        "advantage": number(spelled(_first(cell, roles["advantage"]))),
        "rewards": rewards or None,
        "extra": extra or None,
        "answer": text(_first(cell, roles["answer"])),
        **{name: value for name in FATE if (value := _first(cell, roles[name])) is not None},
    }
    return read


@lru_cache(maxsize=1024)
def _plan(names: tuple[str, ...]) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The columns of each role, the most wanted first, and those of none."""
    low = {name.lower(): name for name in names}
    roles = {role: tuple(low[word] for word in words if word in low) for role, words in ROLES.items()}
    return roles, tuple(name for name in names if name.lower() not in KNOWN)


def _first(cell: Mapping[str, Any], names: Sequence[str]) -> Any:
    for name in names:
        if (value := cell[name]) is not None:
            return value
    return None


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """The value as text: messages are joined by line breaks, other values are written as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(m, Mapping) and "content" in m for m in value):
        return "\n".join(str(m["content"]) for m in value)
    return json.dumps(value, ensure_ascii=False, default=str)
