"""The pairs of DPO and of a reward model, and KTO's single answers, as samples: what was preferred, what was not, and what the model made of each.

The loss has the tokens of a batch, and the model's forward pass inside it the log-probabilities: the first pass over the batch is the policy's, the second the
reference's. `reward` is the trainer's own: the implicit one (beta times the log-ratio) of DPO and KTO, the score of a reward model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.sources.quiet import quiet

from .callback import RollscopeCallback
from .wrap import after, around

TRAINERS = ("DPOTrainer", "KTOTrainer", "RewardTrainer")


class Preferences:
    def __init__(self, trainer: Any, callback: RollscopeCallback) -> None:
        self.trainer = trainer
        self.callback = callback
        self._batches = 0
        self._inside = False  # of a loss: forward passes elsewhere are not ours to look at
        self._passes: list[tuple[Any, Any]] = []  # the tokens a forward pass was given, and what it gave

    def watch(self) -> None:
        """Listen to this trainer's loss and to its models; a trainer of another kind is left alone."""
        if not any(kind.__name__ in TRAINERS for kind in type(self.trainer).__mro__):
            return
        name = "_compute_loss" if hasattr(self.trainer, "_compute_loss") else "compute_loss"
        after(self.trainer, name, self._batch)
        around(self.trainer, name, self._enter, self._leave)
        heard = quiet(self._forward)
        for model in (self.trainer.model, getattr(self.trainer, "ref_model", None)):
            if model is not None:
                model.register_forward_hook(
                    lambda module, args, kwargs, output: heard(kwargs, output), with_kwargs=True
                )  # what it returns replaces the output

    def _enter(self, *_: Any) -> None:
        self._inside, self._passes = True, []

    def _leave(self) -> None:
        self._inside, self._passes = False, []

    def _forward(self, kwargs: dict[str, Any], output: Any) -> None:
        if self._inside and kwargs.get("input_ids") is not None:
            self._passes.append((kwargs["input_ids"], output))

    def _batch(self, loss: Any, model: Any, inputs: Any, *_: Any) -> None:
        """By now the trainer has read its metrics off the device, so reading the batch waits for nothing."""
        run, training = self.callback.begin(self.trainer.args, self.trainer.state), bool(self.trainer.model.training)
        passes = [
            output
            for ids, output in self._passes
            if ids.shape == inputs["input_ids"].shape and ids.data_ptr() == inputs["input_ids"].data_ptr()
        ]
        if run is None or not passes:
            return
        self._batches += 1
        step = self.trainer.state.global_step + (1 if training else 0)
        told = _Tokens(self.trainer, inputs, passes)
        rows = list(self._samples(told, inputs))
        for row in rows:
            row |= {"split": "train", "trained": True} if training else {"split": "eval"}
        run.log_samples(rows, step=step)

    def _samples(self, told: _Tokens, inputs: Any) -> Iterator[dict[str, Any]]:
        count = len(told.ids)
        labels = inputs["label"].tolist() if "label" in inputs else [True] * (count // 2) + [False] * (count // 2)
        pairs = count if "label" in inputs else count // 2
        first = self.trainer.accelerator.process_index * pairs
        for i, chosen in enumerate(labels):
            where, word = first + i % pairs, "chosen" if chosen else "rejected"
            yield {
                "id": f"{self._batches}.{where}.{word}",
                "group": f"{self._batches}.{where}",
                "tags": [word],
                **told.of(i),
            }


class _Tokens:
    """A batch on the host: its tokens, cut into prompt and completion, and each completion's log-probabilities."""

    def __init__(self, trainer: Any, inputs: Any, passes: list[Any]) -> None:
        self._tokenizer = getattr(trainer, "_tokenizer", None) or trainer.processing_class
        self.ids = inputs["input_ids"].cpu().numpy()
        self._valid = inputs["attention_mask"].cpu().numpy().astype(bool)
        said = inputs.get("completion_mask")
        self._said = self._valid if said is None else said.cpu().numpy().astype(bool)
        width = self.ids.shape[1] - 1
        self._logps = [
            _host(output.log_probs[:, -width:])
            for output in passes[:2]
            if getattr(output, "log_probs", None) is not None
        ]
        scores = getattr(passes[0], "logits", None) if said is None else None
        self._scores = None if scores is None else _host(scores).reshape(-1)
        self._beta = (
            getattr(trainer, "beta", None) if getattr(trainer, "ld_alpha", None) is None else None
        )  # with it the log-ratio is weighted by position

    def of(self, i: int) -> dict[str, Any]:
        ids, said = self.ids[i], self._said[i] & self._valid[i]
        prompt, completion = ids[self._valid[i] & ~said], ids[said]
        asked = self._tokenizer.decode(prompt.tolist()) if len(prompt) else None
        found: dict[str, Any] = {
            "completion": self._tokenizer.decode(completion.tolist(), skip_special_tokens=True),
            "token_ids": completion.astype(np.int64),
        }
        found |= {"prompt_tokens": len(prompt), "completion_tokens": len(completion)}
        if asked is not None:
            found |= {
                "prompt": asked,
                "task": hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
            }
        for name, logps in zip(("logp", "ref_logp"), self._logps, strict=False):
            found[name] = logps[i, said[1:]]
        if self._scores is not None:
            found["reward"] = float(self._scores[i])
        elif self._beta is not None and len(self._logps) == 2:
            found["reward"] = float(self._beta * (found["logp"].sum() - found["ref_logp"].sum()))
        return found


def _host(tensor: Any) -> NDArray[np.float32]:
    return tensor.detach().float().cpu().numpy()  # type: ignore[no-any-return]
