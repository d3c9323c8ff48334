"""verifiers, live: `rollscope.sources.verifiers.attach(env)` before its first episode.

Every episode of the environment is recorded when it ends: each trace is a sample with its messages,
calls of tools, rewards by part and metrics, and with tokens and log-probabilities where the client
gets them. From files: `rollscope.sources.prime_rl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollscope.record.run import Run

    from .live import Recorder

__all__ = ["attach"]


def attach(env: Any, run: Run | None = None, split: str = "eval", **options: Any) -> Recorder:
    """Record an environment. Returns what records it: set its `step` in a training.

    `options` are those of `rs.init`. With `run`, everything goes to that run. Safe to call twice.
    """
    from .live import Recorder, known

    if (before := known(env, run)) is not None:
        return before
    recorder = Recorder(env, run, split, options)
    recorder.watch()
    return recorder
