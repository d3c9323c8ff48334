"""ART, live and from its files.

    rollscope.sources.art.attach(model)

records what `model.log` gets: every trajectory as a sample, with tokens and log-probabilities, and
the numbers that ART writes about them. From files: its model folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .files import recognises, rows

if TYPE_CHECKING:
    from rollscope.record.run import Run

NAMES = ("art", "art trajectories")
__all__ = ["NAMES", "attach", "recognises", "rows"]


def attach(model: Any, run: Run | None = None, **options: Any) -> Any:
    """Record a model. Call it before its first `log`. Returns the run.

    `options` are those of `rs.init`. With `run`, everything goes to that run.
    """
    from .live import attach as listen

    return listen(model, run, options)
