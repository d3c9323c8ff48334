"""TRL, live and from its files.

    rollscope.sources.trl.attach(trainer)            metrics, spans and every sample
    trainer.add_callback(RollscopeCallback())        metrics
    GRPOConfig(report_to="rollscope")                metrics, once this module is imported

Names and steps are the trainer's own: what `trainer.state.log_history` holds is what is recorded.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .files import recognises, rows

if TYPE_CHECKING:
    from rollscope.record.run import Run

NAMES = ("trl", "transformers")
__all__ = ["NAMES", "RollscopeCallback", "attach", "recognises", "register", "rows"]


def attach(trainer: Any, run: Run | None = None, **options: Any) -> Any:
    """Record a trainer. Call it before `train()`.

    `options` are those of `rs.init`. With `run`, everything goes to that run, and it stays open.
    """
    from rollscope.sources.live.quiet import quiet

    from .asynchronous import Queued
    from .callback import RollscopeCallback
    from .ppo import Episodes
    from .preference import Preferences
    from .rollouts import Rollouts

    callback = next((c for c in trainer.callback_handler.callbacks if isinstance(c, RollscopeCallback)), None)
    if callback is None:
        callback = RollscopeCallback(run=run, **options)
        trainer.add_callback(callback)
    callback.trainer = trainer
    for samples in (Rollouts, Queued, Preferences, Episodes):
        quiet(samples(trainer, callback).watch)()  # a trainer that is not as we know it trains all the same
    return callback


def register() -> None:
    """Add `report_to="rollscope"` to transformers."""
    from transformers.integrations import integration_utils

    from .callback import RollscopeCallback

    integration_utils.INTEGRATION_TO_CALLBACK["rollscope"] = RollscopeCallback


def __getattr__(name: str) -> Any:
    if name == "RollscopeCallback":
        from .callback import RollscopeCallback

        return RollscopeCallback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if "transformers" in sys.modules:  # reading files must not cost the second that importing transformers takes
    register()
