"""Samples of TRL's PPO (up to 1.12). Its loop keeps everything in local variables, but calls functions of its module for the parts we want.

A batch is generated (`batch_generation`), its log-probabilities are taken, the policy's and then the reference's (`selective_log_softmax`), and the reward model
scores it (`get_reward`), some rows at a time. Advantages and values stay in the loop: they are not recorded.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .callback import RollscopeCallback
from .wrap import after, around


class Episodes:
    def __init__(self, trainer: Any, callback: RollscopeCallback) -> None:
        self.trainer = trainer
        self.callback = callback
        self._batches = 0
        self._split = "train"
        self._queries: Any = None  # of the batch that was generated and is being scored
        self._logps: list[Any] = []
        self._seen: list[dict[str, NDArray[Any]]] = []

    def watch(self) -> None:
        found = next((kind for kind in type(self.trainer).__mro__ if kind.__name__ == "PPOTrainer"), None)
        module = sys.modules.get(found.__module__) if found is not None else None
        if module is None or not all(
            hasattr(module, name) for name in ("batch_generation", "selective_log_softmax", "get_reward")
        ):
            return
        after(module, "batch_generation", self._generated)
        after(module, "selective_log_softmax", self._logp)
        after(module, "get_reward", self._scored)
        around(self.trainer, "generate_completions", self._shows, self._trains)

    def _shows(self, *_: Any) -> None:
        self._split = "eval"

    def _trains(self) -> None:
        self._split = "train"

    def _generated(self, _: Any, model: Any, queries: Any, *__: Any) -> None:
        if model is self.trainer.accelerator.unwrap_model(self.trainer.model).policy:
            self._queries, self._logps, self._seen = queries, [], []

    def _logp(self, found: Any, *_: Any) -> None:
        if self._queries is not None and len(self._logps) < 2:
            self._logps.append(found)

    def _scored(self, found: Any, model: Any, tokens: Any, pad: int, context: int) -> None:
        if self._queries is None or model is not self.trainer.reward_model:
            return
        part = {"tokens": tokens.cpu().numpy(), "score": found[1].float().cpu().numpy()}
        part |= {
            name: logp.float().cpu().numpy() for name, logp in zip(("old_logp", "ref_logp"), self._logps, strict=False)
        }
        self._logps = []
        self._seen.append(part)
        if sum(len(part["score"]) for part in self._seen) >= len(self._queries):
            self._log(pad, context)

    def _log(self, pad: int, context: int) -> None:
        seen, self._seen, self._queries = self._seen, [], None
        run = self.callback.begin(self.trainer.args, self.trainer.state)
        if run is None:
            return
        self._batches += 1
        rows = [row for part in seen for row in self._samples(part, pad, context)]
        first = self.trainer.accelerator.process_index * len(rows)
        for i, row in enumerate(rows, first):
            row |= {
                "id": f"{self._batches}.{i}",
                "split": self._split,
                **({"trained": True} if self._split == "train" else {}),
            }
        run.log_samples(rows, step=self.trainer.state.global_step + (1 if self._split == "train" else 0))

    def _samples(self, part: dict[str, NDArray[Any]], pad: int, context: int) -> Iterator[dict[str, Any]]:
        trainer = self.trainer
        tokenizer, end = trainer.processing_class, trainer.processing_class.eos_token_id
        for i, row in enumerate(part["tokens"]):
            prompt, answer = row[:context], row[context:]
            length = int(np.argmax(answer == pad)) if (answer == pad).any() else len(answer)
            asked, score = tokenizer.decode(prompt[prompt != pad].tolist()), float(part["score"][i])
            ended = bool((answer[:length] == end).any())
            sample: dict[str, Any] = {
                "prompt": asked,
                "completion": tokenizer.decode(answer[:length].tolist(), skip_special_tokens=True),
                "score": score,
                "token_ids": answer[:length],
            }
            sample |= {
                "task": hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
                "prompt_tokens": int((prompt != pad).sum()),
            }
            sample |= {"completion_tokens": length, "stop_reason": "stop" if ended else "length"}
            sample |= {name: part[name][i, :length] for name in ("old_logp", "ref_logp") if name in part}
            if "old_logp" in part:
                sample["reward"] = self._reward(
                    score, ended, part["ref_logp"][i, :length] - part["old_logp"][i, :length]
                )
            yield sample

    def _reward(self, score: float, ended: bool, ratio: NDArray[Any]) -> float:
        """As the loop makes it: the score, less a penalty without an end, less the KL to the reference."""
        args = self.trainer.args
        kl = -ratio if args.kl_estimator == "k1" else np.exp(ratio) - 1 - ratio
        penalty = 0.0 if ended or args.missing_eos_penalty is None else float(args.missing_eos_penalty)
        return score - penalty - float(args.kl_coef * kl.sum())
