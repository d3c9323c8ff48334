"""RLinf's extension module: `register()` is called while a worker is created, in its process.

It listens to methods of that one worker; no class of RLinf is changed. Ray calls a worker's methods
by its class, so only those that a worker calls itself can be heard.
"""

from __future__ import annotations

import time
from typing import Any

from rollscope.sources.live.behind import Behind
from rollscope.sources.live.caller import calling
from rollscope.sources.live.quiet import quiet

from . import shared
from .episodes import Episodes
from .rollouts import Rollouts
from .sections import Timings

ROUND = "run_interact_once"  # a step of an environment worker
AROUND = "interact"  # ends right after it


class Recorder:
    """What the listeners of a worker share: the run, a thread of ours, the steps so far."""

    def __init__(self, worker: Any) -> None:
        self.worker, self.behind = worker, Behind("rollscope-rlinf")
        self.rounds = 0  # how often the environments were stepped through
        self.update: int | None = None  # that an actor of a language model makes
        self._run: Any = None

    @property
    def run(self) -> Any:
        if self._run is None:
            self._run = shared.join("rlinf")
        return self._run

    @property
    def rank(self) -> int:
        return int(self.worker._rank)

    @property
    def first(self) -> int:
        """The step at which this training began: that of the checkpoint, if there was one."""
        folder = str(self.worker.cfg.runner.get("resume_dir", None) or "")
        digits = folder.rstrip("/").rpartition("global_step_")[2]
        return int(digits) if digits.isdigit() else 0

    def timed(self, name: str, seconds: float) -> None:
        """Record a section that ended, if its step is known."""
        end, step = time.time_ns(), self._step(name)
        if name == ROUND:
            self.rounds += 1
        if step is not None and self.run is not None:
            lane = str(self.worker._worker_name).replace(":", "/")
            self.run.log_span(name, end - round(seconds * 1e9), end, lane=lane, step=step)

    def _step(self, name: str) -> int | None:
        """The step that a worker is at.

        Environment workers count rounds; RLinf tells the number of updates to other workers of an
        embodied training, and to none of a language model.
        """
        if hasattr(self.worker, "env_list"):
            return self.first + self.rounds - (name == AROUND)
        if self.update is not None:
            return self.update * int(self.worker.cfg.algorithm.n_minibatches)
        return int(self.worker.version) if hasattr(self.worker, "version") else None


def register() -> None:
    """Listen to the worker that is being created."""
    worker = calling(lambda found: hasattr(found, "_load_user_extensions"))
    if worker is not None:
        watch(worker)


@quiet
def watch(worker: Any) -> None:
    """Listen to a worker, as far as it has what we know."""
    recorder = Recorder(worker)
    worker._timer_metrics = Timings(worker._timer_metrics, recorder.timed)
    if hasattr(worker, "env_interact_step"):
        Episodes(recorder).listen()
    if hasattr(worker, "get_batch") and hasattr(worker, "compute_advantages_and_returns"):
        Rollouts(recorder).listen()
