"""RLinf, live: call `rollscope.sources.rlinf.attach()` in the driver before its cluster is created.

Then set `logger_backends: [tensorboard, rollscope]`. The driver records everything that
`MetricLogger.log` gets, and the sections that its runner times. Values of single workers are named
`worker/<group>/rank_<r>/<name>`.

Workers are processes of their own. RLinf calls `register()` of the module that
`RLINF_EXT_MODULE` names in each of them; `attach` sets it to `rollscope.sources.rlinf.worker`. An
environment worker records episodes as samples, with the video that RLinf saved of them; an actor
records rollouts of language models; each records what it times.

From files: the videos it saved. Its TensorBoard folders and Chrome traces are read by the sources
of those formats.
"""

from __future__ import annotations

from .files import recognises, rows
from .logger import attach

NAMES = ("rlinf", "rlinf video")
__all__ = ["NAMES", "attach", "recognises", "rows"]
