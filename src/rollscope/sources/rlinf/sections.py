"""What RLinf times, as spans: sections of the runner's step, and of each worker.

The runner's `ScopedTimer` starts and stops a named timer. A worker adds the seconds of a section to
a dictionary when the section ends; ours in its place notices that, and begins where it did.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.wrap import before

WHOLE = "step"  # the section that holds all others of a step


class Sections:
    """The sections of a runner."""

    def __init__(self, run: Any, runner: Any) -> None:
        self._run, self._runner = run, runner
        self._starts: dict[str, int] = {}
        self._step: int | None = None

    def listen(self) -> None:
        before(self._runner.timer._timer, "start", self._start)
        before(self._runner.timer._timer, "stop", self._stop)

    def _start(self, name: str = "") -> None:
        if name == WHOLE or self._step is None:
            self._step = logged_step(self._runner)  # the runner counts on before the section ends
        self._starts[name] = time.time_ns()

    def _stop(self, name: str = "") -> None:
        start = self._starts.pop(name, None)
        if start is not None:
            self._run.log_span(name, start, time.time_ns(), lane="runner/0", step=self._step)


def logged_step(runner: Any) -> int:
    """The step under which a runner logs what it does now."""
    if hasattr(runner, "global_steps"):  # of language models: one for each mini-batch
        return int(runner.global_steps) * int(runner.cfg.algorithm.n_minibatches)
    return int(getattr(runner, "global_step", 0))  # one that only evaluates has none


class Timings(dict[str, float]):
    """A worker's seconds by section. `then(name, seconds)` is called when a section ends."""

    def __init__(self, values: dict[str, float], then: Callable[[str, float], None]) -> None:
        super().__init__(values)
        self._then = quiet(then)

    def __setitem__(self, name: str, total: float) -> None:
        seconds = total - self.get(name, 0.0)
        super().__setitem__(name, total)
        if seconds > 0:  # RLinf also takes away seconds that were only waited
            self._then(name, seconds)
