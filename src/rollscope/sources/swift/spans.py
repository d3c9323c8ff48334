"""The parts of ms-swift's step as spans: its methods are timed where the trainer calls them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rollscope.sources.live.wrap import around
from rollscope.sources.trl.callback import RollscopeCallback

PARTS = {  # a method of the trainer -> what it does
    "_generate_completions": "generate",
    "_compute_rewards_per_func": "reward",
    "_prepare_batch_inputs": "recompute_logp",
    "_move_model_to_vllm": "sync_weights",
}


class Parts:
    """Listens to one trainer and records its parts; one may happen inside another."""

    def __init__(self, trainer: Any, callback: RollscopeCallback) -> None:
        self.trainer, self.callback = trainer, callback
        self._begun: list[int] = []

    def watch(self) -> None:
        for method, name in PARTS.items():
            if hasattr(self.trainer, method):
                around(self.trainer, method, self._begin, self._ending(name))

    def _begin(self, *_: Any) -> None:
        self._begun.append(time.time_ns())

    def _ending(self, name: str) -> Callable[[], None]:
        def end() -> None:
            start, run = self._begun.pop(), self.callback.run
            if run is not None:
                step = self.trainer.state.global_step + (1 if self.trainer.model.training else 0)
                run.log_span(name, start, time.time_ns(), step=step)

        return end
