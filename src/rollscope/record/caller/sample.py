"""A sample: the prompt, what the policy wrote, the reward it got, and what became of it.

Every field may be missing and may come later: rows with the same `id` are one sample. `handover.py`
copies on the caller's thread what the caller could change; `write/sample_rows.py` makes the store's
rows on the drain's thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(eq=False)
class Sample:
    """One sample.

    `store/schema.py` documents every field. A dict with the same keys works as well.
    """

    id: str | None = None
    step: int | None = None
    group: Any = None
    task: Any = None
    repeat: int | None = None
    env: str | None = None
    split: str | None = None
    prompt: str | None = None
    completion: str | None = None
    messages: Sequence[Mapping[str, Any]] | None = None
    # A number, or a list of
    # {role, content, tool, arguments, result, ok, seconds, tokens, stop_reason}.
    turns: Any = None
    tool_calls: Any = None  # a number, or a list of {name, arguments, result, ok, seconds}
    tool_failures: int | None = None
    reward: float | None = None
    score: float | None = None
    rewards: Mapping[str, float] | None = None
    advantage: float | None = None
    sample_metrics: Mapping[str, float] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    response_tokens: int | None = None
    stop_reason: str | None = None
    policy_version_min: int | None = None
    policy_version_max: int | None = None
    off_policy_steps: int | None = None
    trained: bool | None = None
    discard_reason: str | None = None
    generate_seconds: float | None = None
    tool_seconds: float | None = None
    reward_seconds: float | None = None
    reward_version: str | None = None
    answer: str | None = None
    tags: Any = None
    error: str | None = None
    media: Sequence[Mapping[str, Any]] | None = None
    token_ids: Any = None
    logp: Any = None
    old_logp: Any = None
    rollout_logp: Any = None
    ref_logp: Any = None
    entropy: Any = None
    token_advantages: Any = None
    action_mask: Any = None
    tokens: Sequence[str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def as_mapping(sample: Any) -> dict[str, Any]:
    """The fields of a sample as a new dict. Raises TypeError if it is not a sample."""
    if isinstance(sample, Mapping):
        return dict(sample)
    if dataclasses.is_dataclass(sample) and not isinstance(sample, type):
        return {f.name: getattr(sample, f.name) for f in dataclasses.fields(sample)}
    raise TypeError(f"a sample is a dict or an rs.Sample, not {type(sample).__name__}")


@dataclass(slots=True, eq=False)
class Turns:
    """The turns of many samples as columns: field -> one value a turn, None where there is none.

    The turns of a sample are neighbours. As a value of one sample they are a list of dicts, or the
    number of turns where they are not told.
    """

    fields: dict[str, list[Any]]
    lengths: NDArray[np.int64]  # of each sample: how many turns are here
    counts: list[int | None]  # of each sample: how many turns there were, if none are here

    def __len__(self) -> int:
        return len(self.counts)

    def __iter__(self) -> Iterator[list[dict[str, Any]] | int | None]:
        """The value of each sample."""
        rows = zip(*self.fields.values(), strict=True)
        turns = [
            {name: value for name, value in zip(self.fields, row, strict=True) if value is not None} for row in rows
        ]
        for (start, end), count in zip(pairwise(self._edges()), self.counts, strict=True):
            yield turns[start:end] or count

    def part(self, first: int, last: int) -> Turns:
        """Those of some samples, copied."""
        edges = self._edges()[first : last + 1]
        fields = {name: values[edges[0] : edges[-1]] for name, values in self.fields.items()}
        return Turns(fields, self.lengths[first:last], self.counts[first:last])

    def _edges(self) -> list[int]:
        return [0, *np.cumsum(self.lengths).tolist()]
