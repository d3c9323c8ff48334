"""Samples of DPO, KTO and reward models: chosen and rejected answers with log-probabilities.

The loss gets the tokens of a batch, and the forward passes inside it give the log-probabilities:
the first pass over the batch is the policy's, the second the reference's. `reward` is the trainer's
own: the implicit one (beta times the log-ratio) for DPO and KTO, the score for a reward model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.sources.intake.gather import digest
from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.wrap import after, around

from .callback import RollscopeCallback

TRAINERS = ("DPOTrainer", "KTOTrainer", "RewardTrainer")


class Preferences:
    """Listens to one trainer and records its pairs."""

    def __init__(self, trainer: Any, callback: RollscopeCallback) -> None:
        self.trainer = trainer
        self.callback = callback
        self._batches = 0
        self._in_loss = False  # forward passes outside of a loss are ignored
        self._passes: list[tuple[Any, Any]] = []  # (input tokens, output) of each forward pass

    def watch(self) -> None:
        """Listen to the trainer's loss and its models, if it is one of `TRAINERS`."""
        if not any(kind.__name__ in TRAINERS for kind in type(self.trainer).__mro__):
            return
        name = "_compute_loss" if hasattr(self.trainer, "_compute_loss") else "compute_loss"
        after(self.trainer, name, self._on_loss)
        around(self.trainer, name, self._enter_loss, self._leave_loss)
        on_forward = quiet(self._on_forward)  # returns None: any other value would replace the output
        for model in (self.trainer.model, getattr(self.trainer, "ref_model", None)):
            if model is not None:
                hook = lambda module, args, kwargs, output: on_forward(kwargs, output)  # noqa: E731
                model.register_forward_hook(hook, with_kwargs=True)

    def _enter_loss(self, *_: Any) -> None:
        self._in_loss, self._passes = True, []

    def _leave_loss(self) -> None:
        self._in_loss, self._passes = False, []

    def _on_forward(self, kwargs: dict[str, Any], output: Any) -> None:
        if self._in_loss and kwargs.get("input_ids") is not None:
            self._passes.append((kwargs["input_ids"], output))

    def _on_loss(self, loss: Any, model: Any, inputs: Any, *_: Any) -> None:
        """Record the batch.

        The trainer has just read its metrics off the device, so this does not wait.
        """
        run, training = self.callback.begin(self.trainer.args, self.trainer.state), bool(self.trainer.model.training)
        passes = [output for ids, output in self._passes if _same_tensor(ids, inputs["input_ids"])]
        if run is None or not passes:
            return
        self._batches += 1
        rows = list(self._samples(_Batch(self.trainer, inputs, passes), inputs))
        for row in rows:
            row |= {"split": "train", "trained": True} if training else {"split": "eval"}
        run.log_samples(rows, step=self.trainer.state.global_step + (1 if training else 0))

    def _samples(self, batch: _Batch, inputs: Any) -> Iterator[dict[str, Any]]:
        """KTO's rows have a label; pairs are all chosen rows, then all rejected ones."""
        count = len(batch.ids)
        labels = inputs["label"].tolist() if "label" in inputs else [True] * (count // 2) + [False] * (count // 2)
        pairs = count if "label" in inputs else count // 2
        first = self.trainer.accelerator.process_index * pairs
        for i, chosen in enumerate(labels):
            group, tag = f"{self._batches}.{first + i % pairs}", "chosen" if chosen else "rejected"
            yield {"id": f"{group}.{tag}", "group": group, "tags": [tag], **batch.sample(i)}


def _same_tensor(a: Any, b: Any) -> bool:
    return bool(a.shape == b.shape and a.data_ptr() == b.data_ptr())


class _Batch:
    """A batch on the host: tokens of prompts and completions, log-probabilities of completions."""

    def __init__(self, trainer: Any, inputs: Any, passes: list[Any]) -> None:
        self._tokenizer = getattr(trainer, "_tokenizer", None) or trainer.processing_class
        self.ids = inputs["input_ids"].cpu().numpy()
        self._valid = inputs["attention_mask"].cpu().numpy().astype(bool)
        mask = inputs.get("completion_mask")
        self._completion = self._valid if mask is None else mask.cpu().numpy().astype(bool)
        width = self.ids.shape[1] - 1
        outputs = [output for output in passes[:2] if getattr(output, "log_probs", None) is not None]
        self._logps = [_host(output.log_probs[:, -width:]) for output in outputs]
        scores = getattr(passes[0], "logits", None) if mask is None else None
        self._scores = None if scores is None else _host(scores).reshape(-1)
        weighted = getattr(trainer, "ld_alpha", None) is not None  # log-ratios are weighted by position
        self._beta = None if weighted else getattr(trainer, "beta", None)

    def sample(self, i: int) -> dict[str, Any]:
        in_completion = self._completion[i] & self._valid[i]
        prompt, completion = self.ids[i][self._valid[i] & ~in_completion], self.ids[i][in_completion]
        sample: dict[str, Any] = {
            "completion": self._tokenizer.decode(completion.tolist(), skip_special_tokens=True),
            "token_ids": completion.astype(np.int64),
            "prompt_tokens": len(prompt),
            "completion_tokens": len(completion),
        }
        if len(prompt):
            text = self._tokenizer.decode(prompt.tolist())
            sample |= {"prompt": text, "task": digest(text)}
        for name, logps in zip(("logp", "ref_logp"), self._logps, strict=False):
            sample[name] = logps[i, in_completion[1:]]
        if self._scores is not None:
            sample["reward"] = float(self._scores[i])
        elif self._beta is not None and len(self._logps) == 2:
            sample["reward"] = float(self._beta * (sample["logp"].sum() - sample["ref_logp"].sum()))
        return sample


def _host(tensor: Any) -> NDArray[np.float32]:
    return tensor.detach().float().cpu().numpy()  # type: ignore[no-any-return]
