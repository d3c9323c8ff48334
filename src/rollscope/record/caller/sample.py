"""A sample: what the policy was asked, what it wrote, what it got for it, and what became of it.

Every field may be missing and may come later: rows with the same `id` are one sample. `handover.py` copies what the caller could change, on the
caller's thread; `intake.py` makes the store's rows of it, on another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Sample:
    """One sample by name; `docs` of every field stand in `store/schema.py`. A dict with the same keys does as well."""

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
    turns: Any = (
        None  # how many, or a list of {role, content, tool, arguments, result, ok, seconds, tokens, stop_reason}
    )
    tool_calls: Any = None  # how many, or a list of {name, arguments, result, ok, seconds}
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
    if isinstance(sample, Mapping):
        return dict(sample)
    if dataclasses.is_dataclass(sample) and not isinstance(sample, type):
        return {f.name: getattr(sample, f.name) for f in dataclasses.fields(sample)}
    raise TypeError(f"a sample is a dict or an rs.Sample, not {type(sample).__name__}")
