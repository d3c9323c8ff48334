"""A rollout of ms-swift as a sample: its messages, its rewards and its place in the batch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

from rollscope.sources.dumps import columns
from rollscope.sources.dumps.chat import Chat
from rollscope.sources.intake.gather import digest, number
from rollscope.sources.intake.tables import text
from rollscope.sources.live.text import Decoder
from rollscope.sources.trl.turns import turns

from .calls import with_calls

ANSWERS = ("solution", "answer", "ground_truth", "target", "label")  # columns of a dataset
Column = dict[str, Any]


class Scored(NamedTuple):
    """Samples of this rank that were scored together, and what they got."""

    samples: list[Any]
    rewards: list[list[float]]  # of each sample, by function
    names: list[str]
    weights: list[float]
    first: int  # the number of the first one, over all ranks
    size: int | None  # of a group; None where a rollout may be several samples

    @classmethod
    def of(cls, trainer: Any, samples: list[Any], rewards: Any, training: bool) -> Scored:
        """`rewards` are those of all ranks, of which each has its share."""
        share, more = divmod(len(rewards), trainer.accelerator.num_processes)
        rank = trainer.accelerator.process_index
        first = rank * share + min(rank, more)
        size = trainer.num_generations if training else trainer.num_generations_eval
        return cls(
            samples,
            rewards[first : first + len(samples)].tolist(),
            list(trainer.reward_func_names),
            trainer.reward_weights.tolist(),
            first,
            None if trainer.dynamic_num_samples else int(size),
        )

    def columns(self, batch: str, decoder: Decoder) -> Iterator[Column]:
        """Every sample, in a batch of this name."""
        parts: dict[str, count[int]] = {}
        for i, (one, rewards) in enumerate(zip(self.samples, self.rewards, strict=True)):
            if self.size is None:
                part = next(parts.setdefault(one.request_id, count()))
                place: Column = {"id": f"{batch}.{one.request_id}.{part}", "group": f"{batch}.{one.prompt_id}"}
            else:
                group, repeat = divmod(self.first + i, self.size)
                place = {"id": f"{batch}.{self.first + i}", "group": f"{batch}.{group}", "repeat": repeat}
            yield {**place, **_said(one, decoder), **self._got(rewards), **_ended(one)}

    def _got(self, rewards: list[float]) -> Column:
        """The rewards; NaN means that the function returned nothing, and is left out."""
        known = {name: value for name, value in zip(self.names, rewards, strict=True) if value == value}
        weighted = [weight * value for weight, value in zip(self.weights, rewards, strict=True) if value == value]
        return {"rewards": known, "reward": sum(weighted) if weighted else None}


def _said(one: Any, decoder: Decoder) -> Column:
    """What was asked and what the policy said. Answers in a dataset's history are of the prompt."""
    messages = with_calls([_worded(message, decoder) for message in one.messages])
    lengths = _lengths(one)
    wrote = [i for i, message in enumerate(messages) if message.get("role") == "assistant"][-len(lengths) :]
    first = wrote[0] if wrote else len(messages)
    talk = Chat(messages, first)
    prompt = text(messages[:first]) or ""
    return {
        "task": digest(prompt),
        "prompt": prompt,
        "completion": talk.completion,
        "messages": messages,
        "turns": _turns(messages[first:], lengths),
        "answer": next((text(one.extra[name]) for name in ANSWERS if one.extra.get(name) is not None), None),
    }


def _worded(message: Column, decoder: Decoder) -> Column:
    """A message in words: of several turns, ms-swift keeps the first ones as tokens."""
    content = message.get("content")
    ids = content.get("token_ids", content.get("input_ids")) if isinstance(content, dict) else content
    if not isinstance(ids, list) or not ids or not all(isinstance(id, int) for id in ids):
        return dict(message)
    return {**message, "content": decoder.texts([ids])[0]}


def _lengths(one: Any) -> list[int | None]:
    """The tokens of each turn of the policy, if they are known."""
    ids = one.response_token_ids
    if ids and isinstance(ids[0], int):
        return [len(ids)]
    told = number((one.rollout_infos or {}).get("num_turns"))
    return [len(part) for part in ids] or [None] * max(1, int(told or 1))


def _turns(messages: list[Column], lengths: list[int | None]) -> Any:
    """The turns after the prompt, if there is more than one."""
    rows = turns(messages)
    if rows is None:
        return 1
    own = [row for row in rows if row["role"] == "assistant"]
    if len(own) == len(lengths):
        for row, length in zip(own, lengths, strict=True):
            row["tokens"] = length
    return rows


def _ended(one: Any) -> Column:
    advantage = None if one.advantages is None else float(one.advantages)
    return {"advantage": advantage, "stop_reason": columns.stop_reason(one.finish_reason)}
