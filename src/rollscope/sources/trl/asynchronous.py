"""Samples of TRL's asynchronous GRPO, from the queue in which its rollout worker puts them.

A sample is recorded when the trainer takes it out of the queue. Micro-batches are made ahead of
their update, and are trained on in the order in which they were made; so the step of a sample is
known when its micro-batch comes to the loss; the last ones are never trained on. Log-probabilities
are those of the engine: TRL's ratio starts from them, and the loss shows none of its own.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from rollscope.sources.dumps.place import Repeats
from rollscope.sources.intake.gather import digest
from rollscope.sources.intake.tables import text
from rollscope.sources.live.wrap import after, before

from .batch import Columns, chats
from .callback import RollscopeCallback

REWARDS = "rewards/"  # before the name of a function, in the numbers of a sample


class Queued:
    """Listens to one trainer and records the samples that it takes from its queue."""

    def __init__(self, trainer: Any, callback: RollscopeCallback) -> None:
        self.trainer = trainer
        self.callback = callback
        self._taken: dict[int, tuple[str, Any]] = {}  # identity of its ids -> sample id, what was taken
        self._repeats = Repeats()
        self._ahead: deque[list[tuple[str, int]]] = deque()  # micro-batches: sample ids and their versions

    def watch(self) -> None:
        """Wrap what the asynchronous trainer has; only the main process has a queue."""
        if getattr(self.trainer, "rollout_queue", None) is not None:
            after(self.trainer.rollout_queue, "get", self._on_sample)
            after(self.trainer, "get_train_dataloader", self._on_loader)
            before(self.trainer, "compute_loss", self._on_loss)

    def _on_sample(self, taken: Any, *_: Any) -> None:
        run = self.callback.begin(self.trainer.args, self.trainer.state)
        if run is None:
            return
        repeat = self._repeats.number(str(taken.group_id))
        id, why = f"{taken.group_id}.{repeat}", self._unused(taken)
        columns = _columns(id, repeat, taken, set(self.trainer.eos_token_ids))
        if why is None:
            self._taken[id_of(taken.input_ids)] = (id, taken)
        else:
            columns |= {"trained": [False], "discard_reason": [why]}
        run.log_samples(columns, step=self._now())

    def _unused(self, taken: Any) -> str | None:
        """Why the trainer leaves a sample out, by its own two rules."""
        if self.trainer.model_version - taken.model_version > self.trainer.args.max_staleness:
            return "stale"
        budget = self.trainer.args.token_budget or 0
        return "too_long" if 0 < budget < len(taken.input_ids) else None

    def _on_loader(self, loader: Any, *_: Any) -> None:
        after(loader.collate_fn, "torch_call", self._on_batch)

    def _on_batch(self, _: Any, examples: Any) -> None:
        (rows,) = examples
        samples = [sample for row in rows for sample in row.samples]
        taken = [self._taken.pop(id_of(sample["input_ids"]), None) for sample in samples]
        self._ahead.append([(one[0], one[1].model_version) for one in taken if one is not None])

    def _on_loss(self, *_: Any, **__: Any) -> None:
        samples = self._ahead.popleft() if self._ahead else []
        if samples and self.callback.run is not None:
            step, now = self._now(), self.trainer.model_version
            columns: Columns = {
                "id": [id for id, _ in samples],
                "step": [step] * len(samples),
                "trained": [True] * len(samples),
                "off_policy_steps": [now - version for _, version in samples],
            }
            self.callback.run.log_samples(columns, step=step)

    def _now(self) -> int:
        return int(self.trainer.state.global_step) + 1


def id_of(ids: Any) -> int:
    """What tells a sample: the one thing of it that TRL hands on is the array of its token ids."""
    return id(ids)


def _columns(id: str, repeat: int, taken: Any, ends: set[int]) -> Columns:
    """One sample, as columns. Its prompt goes to the first token that the policy wrote."""
    mask = np.asarray(taken.completion_mask)
    begin = int(mask.argmax()) if mask.any() else len(mask)
    prompt, rewards = text(taken.prompt) or "", taken.metrics
    return {
        "id": [id],
        "group": [str(taken.group_id)],
        "repeat": [repeat],
        "split": ["train"],
        "task": [digest(prompt)],
        "prompt": [prompt],
        "completion": [text(taken.completion)],
        "reward": [_known(rewards.get("reward"))],
        "rewards": [
            {name.removeprefix(REWARDS): n for name, n in rewards.items() if name.startswith(REWARDS) and n == n}
        ],
        "advantage": [taken.advantage],
        "prompt_tokens": [begin],
        "response_tokens": [len(mask) - begin],
        "completion_tokens": [int(mask.sum())],
        "stop_reason": ["stop" if int(taken.input_ids[-1]) in ends else "length"],
        "policy_version_min": [taken.model_version],
        "token_ids": [np.asarray(taken.input_ids)[begin:]],
        "rollout_logp": [np.asarray(taken.old_log_probs)[begin:]],
        "action_mask": [mask[begin:]],
        **chats([taken.prompt], [taken.completion]),
    }


def _known(value: float | None) -> float | None:
    return None if value is None or value != value else value
