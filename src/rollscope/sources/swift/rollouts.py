"""Samples of ms-swift's GRPO, taken when a generated batch is ready for the loss.

Rewards are noted where they are computed, so that groups which dynamic sampling throws away are
known. A micro-batch keeps its place from generation to the last update, so the log-probabilities
and entropies of the loss are joined to the samples of its rows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

from rollscope.sources.live.text import Decoder
from rollscope.sources.live.wrap import after, around
from rollscope.sources.trl.callback import RollscopeCallback

from .sample import Scored
from .tokens import Row, cut, detached, rows_of

THROWN = {"trained": False, "discard_reason": "dynamic sampling"}
Round = tuple[list[Any], Any]  # samples that were scored together, and the rewards of all ranks


class Held(NamedTuple):
    """A micro-batch, and the samples in its rows."""

    batch: Any
    ids: list[str]
    rows: list[Row]


class Rollouts:
    """Listens to one trainer and records its samples."""

    def __init__(self, trainer: Any, callback: RollscopeCallback) -> None:
        self.trainer, self.callback = trainer, callback
        self._rounds: list[Round] = []  # of the batch that is being made
        self._batches = 0
        self._held: dict[int, Held] = {}  # micro-batches of the last batch, by identity
        self._loss: Held | None = None  # the micro-batch that the loss works on
        self._version = 0  # of the weights that wrote the batch: updates before it was generated
        self._consumed: dict[str, int] = {}  # sample -> step that first trained on it

    def watch(self) -> None:
        """Wrap the methods of GRPO; the other trainers of ms-swift score no rollouts."""
        if hasattr(self.trainer, "_compute_rewards_per_func"):
            after(self.trainer, "_compute_rewards_per_func", self._on_rewards)
            after(self.trainer, "_postprocess_batch", self._on_batch)
            around(self.trainer, "compute_loss", self._enter_loss, self._leave_loss)
            after(self.trainer, "_get_per_token_logps_and_entropies", self._on_tokens)

    def _on_rewards(self, rewards: Any, samples: list[Any], *_: Any) -> None:
        self._rounds.append((samples, rewards))

    def _on_batch(self, _: None, samples: list[Any], batches: list[Any], *__: Any) -> None:
        rounds, self._rounds = self._rounds, []
        run = self.callback.begin(self.trainer.args, self.trainer.state)
        if run is None:
            return
        self._batches += 1
        training, version = bool(self.trainer.model.training), int(self.trainer.state.global_step)
        micro = [one["grpo_batch"] for one in batches]
        rows = rows_of(micro, samples)
        scored = Scored.of(self.trainer, samples, self.trainer._rewards_per_func, training)
        found = [*self._complete(scored, rows, training)]
        thrown = self._thrown(rounds, samples)
        run.log_samples([*found, *thrown], step=version + (1 if training else 0))
        if training:
            self._version, self._consumed = version, {}
            self._hold(micro, [one["id"] for one in found], rows)

    def _complete(self, scored: Scored, rows: list[Row], training: bool) -> Iterator[dict[str, Any]]:
        """The samples of the batch. Without rows if other ranks have a part of them."""
        about, leaves_out = self._about(training), training and self.trainer.overlong_filter
        for i, one in enumerate(scored.columns(str(self._batches), self._decoder)):
            one |= about
            if i < len(rows):
                one |= rows[i].columns()
                self._with_kl(one, rows[i])
            if training:
                cut_off = bool(leaves_out and scored.samples[i].is_truncated)
                one |= {"trained": not cut_off, "discard_reason": "truncated" if cut_off else None}
            yield one

    def _with_kl(self, one: dict[str, Any], row: Row) -> None:
        """With `kl_in_reward`, the divergence from the reference is a part of the reward."""
        if self.trainer.kl_in_reward and self.trainer.beta and one["reward"] is not None:
            one["score"] = one["reward"]
            one["reward"] -= self.trainer.beta * row.kl()

    @functools.cached_property
    def _decoder(self) -> Decoder:
        return Decoder.of_own(self.trainer.processing_class)

    def _about(self, training: bool) -> dict[str, Any]:
        """What the samples of a batch have in common."""
        split, version = "train" if training else "eval", int(self.trainer.state.global_step)
        if self._asynchronous:
            return {"split": split}
        return {"split": split, "policy_version_min": version, "policy_version_max": version}

    @property
    def _asynchronous(self) -> bool:
        """Whether older weights may have written a batch, of which ms-swift does not say which."""
        return bool(getattr(self.trainer.args, "async_generate", False))

    def _thrown(self, rounds: list[Round], kept: list[Any]) -> list[dict[str, Any]]:
        """What dynamic sampling threw away. Of several ranks another one may have kept it."""
        if self.trainer.accelerator.num_processes > 1 or len(rounds) < 2:
            return []
        used, about = {id(one) for one in kept}, {**self._about(True), **THROWN}
        found = []
        for number, (samples, rewards) in enumerate(rounds):
            scored = Scored.of(self.trainer, samples, rewards, training=True)
            columns = zip(samples, scored.columns(f"{self._batches}.r{number}", self._decoder), strict=True)
            found += [{**one, **about} for sample, one in columns if id(sample) not in used]
        return found

    def _hold(self, batches: list[Any], ids: list[str], rows: list[Row]) -> None:
        self._held, first = {}, 0
        for batch in batches if rows else ():
            last = first + len(batch.completion_mask)
            self._held[id(batch)] = Held(batch, ids[first:last], rows[first:last])
            first = last

    def _enter_loss(self, model: Any, inputs: Any, *_: Any) -> None:
        batch = (inputs[0] if isinstance(inputs, list) else inputs)["grpo_batch"]
        self._loss = self._held.get(id(batch)) if self.trainer.model.training else None

    def _leave_loss(self) -> None:
        """Say when samples were trained on, of a loss that showed no tokens (Liger)."""
        held, self._loss = self._loss, None
        if held is not None and self.callback.run is not None and not self._again(held):
            self.callback.run.log_samples(self._trained(held), step=self._now())

    def _on_tokens(self, result: Any, model: Any, model_inputs: Any, batch: Any, *_: Any) -> None:
        """Add the log-probabilities and entropies of the loss to their samples."""
        held = self._loss
        if held is None or held.batch is not batch or self.callback.run is None:
            return
        self._loss = None
        if self._again(held):
            return
        columns = self._trained(held)
        for name, values in zip(("logp", "entropy"), result, strict=False):
            if values is not None:
                columns[name] = cut(detached(values), held.rows)
        self.callback.run.log_samples(columns, step=self._now())

    def _again(self, held: Held) -> bool:
        """Was there an update with these samples before (`num_iterations`)?

        Samples are at the step of the first one, and so are the tokens of its loss.
        """
        return all(id in self._consumed for id in held.ids)

    def _trained(self, held: Held) -> dict[str, Any]:
        """When samples were first trained on, and how many updates after they were written."""
        steps = [self._consumed.setdefault(id, self._now()) for id in held.ids]
        columns = {"id": held.ids, "step": steps}
        if self._asynchronous:
            return columns
        return {**columns, "off_policy_steps": [step - 1 - self._version for step in steps]}

    def _now(self) -> int:
        return int(self.trainer.state.global_step) + 1
