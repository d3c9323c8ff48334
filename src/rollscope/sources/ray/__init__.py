"""Ray's workers: every call of an actor and every task becomes a span of the run.

Ray's control service knows when each call was handed in, when it began, when it ended and how. A
process of its own, at a low priority, asks for that and records it: no code of a framework is
touched, and the training waits for nothing. `attach(run)` in the process that holds the run starts
it; the plug-ins of frameworks that run on Ray call it, and `rollscope run` does so for any program.
Workers that have something to record themselves learn from Ray which run it is.

| module | what it does |
|---|---|
| `watching` | starts and ends the process, in the training |
| `told` | tells workers which run their job has |
| `__main__` | the process: it looks, records and rests until the training ends |
| `cluster` | reads the calls of a job from Ray |
| `task` | one call: who did it, when, and how it ended |
| `lanes` | names the lane of a worker |
| `steps` | says in which step of the run a call began |
| `follow` | decides which calls are recorded, each once |
"""

from __future__ import annotations

from .watching import attach, watch

__all__ = ["attach", "watch"]
