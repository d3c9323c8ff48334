"""Rollouts of OpenRLHF as samples, from the experiences that its trainer computes advantages for.

An `Experience` holds some rollouts as padded tensors: the tokens of prompt and response together,
and for every token but the first whether the policy wrote it. The response begins with the first
token that the policy wrote; what it was told in between belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from rollscope.sources.live.text import Decoder
from rollscope.sources.verl.batch import Array, Batch, array
from rollscope.sources.verl.rollouts import samples
from rollscope.store.log.lists import Lists

TOKENS = {  # OpenRLHF's values for each token but the first -> what veRL calls them
    "action_mask": "response_mask",
    "rollout_log_probs": "rollout_log_probs",
    "action_log_probs": "old_log_probs",
    "base_action_log_probs": "ref_log_prob",
    "advantages": "advantages",
}
OWN = frozenset({"reward", "score", "response_clip_ratio", "group_reward_std", "kl", "return"})  # of OpenRLHF itself


class Rollout(NamedTuple):
    """One rollout of an experience."""

    experience: Any
    row: int
    number: int  # in the order of generation: the samples of a prompt are neighbours


class Step(NamedTuple):
    """What a step or an evaluation held; `many` are the samples of a prompt."""

    experiences: list[Any]
    number: int
    many: int
    split: str


def rows(step: Step, decoder: Decoder, **about: Any) -> list[dict[str, Any]]:
    """The samples of a step; `about` is what is known of all."""
    rollouts = sorted(_rollouts(step.experiences), key=lambda one: one.number)
    tokens: dict[str, list[Array]] = {}
    for one in rollouts:
        for name, values in _tokens(one).items():
            tokens.setdefault(name, []).append(values)
    whole = {name: Lists.of(values) for name, values in tokens.items() if len(values) == len(rollouts)}
    place = f"{step.split}/{step.number}"
    ids = [f"{place}/{one.number}" for one in rollouts]
    words = {"uid": [f"{place}/{one.number // step.many}" for one in rollouts]}
    found = samples(Batch(step.number, ids, whole, words, **about), decoder)
    if step.split == "eval":
        for sample in found:
            sample.pop("trained", None)
    return [{**sample, "split": step.split, **_outcome(one)} for sample, one in zip(found, rollouts, strict=True)]


def _rollouts(experiences: list[Any]) -> Iterator[Rollout]:
    count = 0
    for experience in experiences:
        for row in range(len(experience.sequences)):
            index = experience.index[row] if experience.index else count
            yield Rollout(experience, row, int(index))
            count += 1


def _tokens(one: Rollout) -> dict[str, Array]:
    """The tokens of a rollout without padding, under veRL's names."""
    held, i = one.experience, one.row
    length = int(held.attention_mask[i].sum())
    mask = array(held.action_mask[i]).astype(np.int64)[: length - 1]
    first = int(np.argmax(mask)) if mask.any() else len(mask)
    ids = array(held.sequences[i])[:length]
    values = {theirs: getattr(held, ours, None) for ours, theirs in TOKENS.items()}
    known = {name: array(value[i])[first : length - 1] for name, value in values.items() if value is not None}
    known["response_mask"] = mask[first:]
    return {**known, "prompts": ids[: first + 1], "responses": ids[first + 1 :]}


def _outcome(one: Rollout) -> dict[str, Any]:
    """What a rollout got; `rewards` are OpenRLHF's after its length penalties."""
    held, i = one.experience, one.row
    scores = {"reward": held.rewards, "score": held.info.get("score", held.info.get("reward"))}
    known: dict[str, Any] = {name: float(values[i]) for name, values in scores.items() if values is not None}
    parts = {name: values for name, values in held.info.items() if name not in OWN and hasattr(values, "numel")}
    extra = {name: float(values[i]) for name, values in parts.items() if values.numel() == len(held.sequences)}
    if held.truncated is not None:
        known["stop_reason"] = "length" if bool(held.truncated[i]) else "stop"
    if held.labels and held.labels[i] is not None:
        known["answer"] = str(held.labels[i])
    return {**known, **({"sample_metrics": extra} if extra else {})}
