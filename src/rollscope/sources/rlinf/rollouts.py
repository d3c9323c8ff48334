"""Rollouts of language models, from the batches that RLinf's actor trains on.

The actor takes results of rollouts from a channel, one or several groups each, and then computes
the advantages of all of them in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rollscope.sources.live.text import Decoder
from rollscope.sources.live.wrap import after
from rollscope.sources.verl.batch import Array, Batch, array
from rollscope.sources.verl.rollouts import samples
from rollscope.store.log.lists import Lists

TOKENS = {  # RLinf's values for each token of a response -> what veRL calls them
    "rollout_logprobs": "rollout_log_probs",
    "recomputed_logprobs": "old_log_probs",
    "ref_logprobs": "ref_log_prob",
    "response_mask": "response_mask",
}


class Step(NamedTuple):
    """Results that were trained on together, and their advantages if they fit."""

    results: list[Any]
    advantages: Any
    number: int  # the step that RLinf logs
    rank: int
    first: int  # number of their first rollout in this step
    version: int | None


class Rollouts:
    """Listens to an actor."""

    def __init__(self, recorder: Any) -> None:
        self._recorder, self._worker = recorder, recorder.worker
        self._results: list[Any] = []
        self._seen = 0  # rollouts so far
        self._decoder: Decoder | None = None

    def listen(self) -> None:
        after(self._worker, "get_batch", self._got)
        after(self._worker, "compute_advantages_and_returns", self._computed)

    def _got(self, result: Any, *_: Any) -> None:
        self._results.append(result[1])
        self._recorder.update = self._recorder.first + self._seen // self._whole(result[1].num_sequence)

    def _computed(self, batch: Any, *_: Any) -> None:
        results, self._results = self._results, []
        many = sum(one.num_sequence for one in results)
        step, run = self._step(many, results, batch.get("advantages")), None
        self._seen += many
        if many and getattr(self._worker, "is_data_io_rank", True):  # Megatron's others get the same
            run = self._recorder.run
        if run is not None:
            if self._decoder is None:
                self._decoder = Decoder.of_own(self._worker.tokenizer)
            decoder = self._decoder
            self._recorder.behind.put(lambda: run.log_samples(rows(step, decoder), step=step.number))

    def _step(self, many: int, results: list[Any], advantages: Any) -> Step:
        cfg, whole = self._worker.cfg, self._whole(many)
        update = self._recorder.first + self._seen // whole
        online = cfg.runner.get("task_type", None) == "coding_online_rl"  # answers are collected from people
        return Step(
            results=results,
            advantages=advantages.detach().cpu() if advantages is not None and len(advantages) == many else None,
            number=update * int(cfg.algorithm.n_minibatches),
            rank=self._recorder.rank,
            first=self._seen % whole,
            version=None if online else update,
        )

    def _whole(self, otherwise: int) -> int:
        """The rollouts of an update; Megatron's actor gets those at once."""
        return max(int(getattr(self._worker, "total_batch_size_per_dp", otherwise)), 1)


def rows(step: Step, decoder: Decoder) -> list[dict[str, Any]]:
    """The samples of a step."""
    rollouts = list(_rollouts(step))
    tokens: dict[str, list[Array]] = {}
    for one in rollouts:
        for name, values in one.tokens.items():
            tokens.setdefault(name, []).append(values)
    whole = {name: Lists.of(values) for name, values in tokens.items() if len(values) == len(rollouts)}
    place = f"train/{step.number}/{step.rank}"
    ids = [f"{place}/{one.number}" for one in rollouts]
    words = {"uid": [f"{place}/{one.group}" for one in rollouts]}
    about: dict[str, Any] = {"now": step.version, "on_policy": step.version is not None}
    found = samples(Batch(step.number, ids, whole, words, **about), decoder)
    return [{**sample, **one.outcome} for sample, one in zip(found, rollouts, strict=True)]


class Rollout(NamedTuple):
    """One sequence of a result."""

    number: int
    group: str
    tokens: dict[str, Array]
    outcome: dict[str, Any]


def _rollouts(step: Step) -> Iterator[Rollout]:
    number = step.first
    for result in step.results:
        for row in range(result.num_sequence):
            advantages = None if step.advantages is None else step.advantages[number - step.first]
            tokens = _tokens(result, row, advantages)
            yield Rollout(number, _group(result, row, number), tokens, _outcome(result, row))
            number += 1


def _group(result: Any, row: int, number: int) -> str:
    """Neighbours answer one prompt. All sequences of an agent's result do: they are its turns."""
    first = number - row
    return str(first) if hasattr(result, "idx_to_traj") else str(first + row // result.group_size * result.group_size)


def _tokens(result: Any, row: int, advantages: Any) -> dict[str, Array]:
    """The tokens of a sequence without padding, under veRL's names."""
    if hasattr(result, "idx_to_traj"):
        ids, start = np.asarray(result.input_ids[row]), int(result.prompt_lengths[row])
        prompt, response = ids[:start], ids[start : start + int(result.response_lengths[row])]
    else:
        prompt, response = np.asarray(result.prompt_ids[row]), np.asarray(result.response_ids[row])
    values = {theirs: getattr(result, ours, None) for ours, theirs in TOKENS.items()}
    known = {name: _cut(value[row], len(response)) for name, value in values.items() if value is not None}
    if advantages is not None:
        known["advantages"] = _cut(advantages, len(response))
    fitting = {name: value for name, value in known.items() if len(value) == len(response)}
    return {"prompts": prompt.astype(np.int64), "responses": response.astype(np.int64), **fitting}


def _cut(values: Any, length: int) -> Array:
    """The values of a response, which are padded on the right."""
    return (array(values) if hasattr(values, "detach") else np.asarray(values))[:length]


def _outcome(result: Any, row: int) -> dict[str, Any]:
    known: dict[str, Any] = {"stop_reason": "stop" if result.is_end[row] else "length"}
    if result.rewards is not None and len(result.rewards):
        known |= {"reward": float(result.rewards[row]), "score": float(result.rewards[row])}
    if hasattr(result, "idx_to_traj"):
        known["repeat"] = int(result.idx_to_traj[row])
    if answer := _answer(getattr(result, "answers", None), row, result.num_sequence):
        known["answer"] = answer
    return known


def _answer(answers: Any, row: int, many: int) -> str | None:
    """RLinf has an answer, or several that are right, for each sequence."""
    if not isinstance(answers, Sequence) or len(answers) != many:
        return None
    words = answers[row]
    return words[0] if isinstance(words, list) and len(words) == 1 and isinstance(words[0], str) else str(words)
