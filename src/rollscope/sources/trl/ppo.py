"""Samples of TRL's PPO (up to 1.12), recorded at the module functions that its loop calls.

The loop generates a batch (`batch_generation`), computes the log-probabilities of the policy and
then of the reference (`selective_log_softmax`), and scores it with the reward model (`get_reward`),
some rows at a time. Advantages and values are local variables of the loop: they are not recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.sources.intake.gather import digest
from rollscope.sources.live.wrap import after, around

from .callback import RollscopeCallback

FUNCTIONS = ("batch_generation", "selective_log_softmax", "get_reward")  # that PPO's loop calls


class Episodes:
    """Listens to one PPO trainer and records its samples."""

    def __init__(self, trainer: Any, callback: RollscopeCallback) -> None:
        self.trainer = trainer
        self.callback = callback
        self._batches = 0
        self._split = "train"
        self._queries: Any = None  # of the batch that is being scored
        self._logps: list[Any] = []
        self._scored: list[dict[str, NDArray[Any]]] = []  # parts of the batch

    def watch(self) -> None:
        """Listen to the trainer; a trainer of another kind is left alone."""
        ppo = next((kind for kind in type(self.trainer).__mro__ if kind.__name__ == "PPOTrainer"), None)
        module = sys.modules.get(ppo.__module__) if ppo is not None else None
        if module is None or not all(hasattr(module, name) for name in FUNCTIONS):
            return
        after(module, "batch_generation", self._on_generation)
        after(module, "selective_log_softmax", self._on_logp)
        after(module, "get_reward", self._on_score)
        around(self.trainer, "generate_completions", self._enter_evaluation, self._leave_evaluation)

    def _enter_evaluation(self, *_: Any) -> None:
        self._split = "eval"

    def _leave_evaluation(self) -> None:
        self._split = "train"

    def _on_generation(self, _: Any, model: Any, queries: Any, *__: Any) -> None:
        if model is self.trainer.accelerator.unwrap_model(self.trainer.model).policy:
            self._queries, self._logps, self._scored = queries, [], []

    def _on_logp(self, logp: Any, *_: Any) -> None:
        if self._queries is not None and len(self._logps) < 2:
            self._logps.append(logp)

    def _on_score(self, result: Any, model: Any, tokens: Any, pad: int, context: int) -> None:
        if self._queries is None or model is not self.trainer.reward_model:
            return
        part = {"tokens": tokens.cpu().numpy(), "score": result[1].float().cpu().numpy()}
        for name, logp in zip(("old_logp", "ref_logp"), self._logps, strict=False):
            part[name] = logp.float().cpu().numpy()
        self._logps = []
        self._scored.append(part)
        if sum(len(part["score"]) for part in self._scored) >= len(self._queries):
            self._log(pad, context)

    def _log(self, pad: int, context: int) -> None:
        parts, self._scored, self._queries = self._scored, [], None
        run = self.callback.begin(self.trainer.args, self.trainer.state)
        if run is None:
            return
        self._batches += 1
        rows = [row for part in parts for row in self._samples(part, pad, context)]
        first, training = self.trainer.accelerator.process_index * len(rows), self._split == "train"
        for i, row in enumerate(rows, first):
            row |= {"id": f"{self._batches}.{i}", "split": self._split, **({"trained": True} if training else {})}
        run.log_samples(rows, step=self.trainer.state.global_step + (1 if training else 0))

    def _samples(self, part: dict[str, NDArray[Any]], pad: int, context: int) -> Iterator[dict[str, Any]]:
        tokenizer = self.trainer.processing_class
        for i, row in enumerate(part["tokens"]):
            prompt, answer = row[:context], row[context:]
            length = int(np.argmax(answer == pad)) if (answer == pad).any() else len(answer)
            tokens, score = answer[:length], float(part["score"][i])
            prompt_text = tokenizer.decode(prompt[prompt != pad].tolist())
            ended = bool((tokens == tokenizer.eos_token_id).any())
            sample: dict[str, Any] = {
                "prompt": prompt_text,
                "completion": tokenizer.decode(tokens.tolist(), skip_special_tokens=True),
                "score": score,
                "token_ids": tokens,
                "task": digest(prompt_text),
                "prompt_tokens": int((prompt != pad).sum()),
                "completion_tokens": length,
                "stop_reason": "stop" if ended else "length",
                **{name: part[name][i, :length] for name in ("old_logp", "ref_logp") if name in part},
            }
            if "old_logp" in part:
                sample["reward"] = self._reward(score, ended, sample["ref_logp"] - sample["old_logp"])
            yield sample

    def _reward(self, score: float, ended: bool, ratio: NDArray[Any]) -> float:
        """The loop's reward: the score, minus a penalty without an end token, minus the KL."""
        args = self.trainer.args
        kl = -ratio if args.kl_estimator == "k1" else np.exp(ratio) - 1 - ratio
        penalty = 0.0 if ended or args.missing_eos_penalty is None else float(args.missing_eos_penalty)
        return score - penalty - float(args.kl_coef * kl.sum())
