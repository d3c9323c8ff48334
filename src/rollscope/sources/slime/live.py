"""The samples of slime and miles, live: their functions that log a rollout are told of each.

Both change some samples right after they log them, so the fields are taken in the call; a thread of
ours reads and records them. Our functions return False, which means that slime and miles go on to
log what they log without them.
"""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.intake.gather import whole
from rollscope.sources.live.behind import Behind
from rollscope.sources.live.quiet import print_once, quiet
from rollscope.sources.live.wrap import before

from . import joined, memory

MANY, TOKENS = 512, 4_000_000  # samples, and tokens of them, that are handed over together


class Taken(NamedTuple):
    """A sample as it was when it was logged."""

    fields: dict[str, Any]
    set: str  # of an evaluation


class Recorder:
    """Takes samples in the process that logs them, and records them behind it."""

    def __init__(self) -> None:
        self._behind = Behind("rollscope-slime")
        self._run: Any = None

    @quiet
    def take(self, split: str, rollout_id: Any, args: Any, data: Any) -> None:
        """Take the samples of a rollout, or of each set of an evaluation."""
        step = whole(rollout_id)
        if step is None:
            raise ValueError(f"the id of a rollout should be a number, not {rollout_id!r}")
        sets = memory.sets(data) if split == "eval" else {"": data}
        held = [(sample, name) for name, samples in sets.items() for sample in memory.flat(samples)]
        framework = memory.framework([sample for sample, _ in held])
        place = Place(framework=framework, folder=Path(), name=f"{split}/{step}", step=step, split=split)
        taken = [Taken(memory.taken(sample), name) for sample, name in held]
        has_dump = getattr(args, "save_debug_rollout_data", None) is not None
        self._join(args, framework)
        self._behind.put(lambda: self._record(place, taken, has_dump))

    def settle(self) -> None:
        """Wait for the rollouts so far, for a bounded time."""
        self._behind.settle()

    def _join(self, args: Any, framework: str) -> None:
        """Join the run with the first rollout; if that fails, with the next."""
        if self._run is None:
            self._run = joined.run(args, framework)
            before(self._run, "finish", lambda *_, **__: self.settle())
            atexit.register(self.settle)  # ahead of what ends the recorder of a run that was joined

    @quiet
    def _record(self, place: Place, taken: Sequence[Taken], has_dump: bool) -> None:
        writes = True
        for part in _parts(_samples(place, taken, has_dump)):
            self._run.log_samples(part, step=place.step)
            writes = writes and self._run.flush()  # a rollout may be larger than what may wait in memory


def _samples(place: Place, taken: Sequence[Taken], has_dump: bool) -> Iterator[dict[str, Any]]:
    """The samples of a rollout. One that cannot be read is left out, with a sentence."""
    for row, (fields, name) in enumerate(taken):
        try:
            yield memory.sample(fields, Spot(place, row, 0), name, has_dump)
        except Exception as error:
            print_once(
                f"rollscope: a sample of {place.framework} cannot be read ({error!r}); it and others like it"
                " are not recorded, and training goes on"
            )


def _parts(samples: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The samples in lists of bounded size."""
    part: list[dict[str, Any]] = []
    tokens = 0
    for sample in samples:
        part.append(sample)
        tokens += sample["response_tokens"]
        if len(part) >= MANY or tokens > TOKENS:
            yield part
            part, tokens = [], 0
    if part:
        yield part


_RECORDER = Recorder()


def log_rollout(rollout_id: Any, args: Any = None, samples: Any = None, *_: Any, **__: Any) -> bool:
    """Record the samples of a rollout. For `--custom-rollout-log-function-path`."""
    _RECORDER.take("train", rollout_id, args, samples)
    return False


def log_eval_rollout(rollout_id: Any, args: Any = None, data: Any = None, *_: Any, **__: Any) -> bool:
    """Record those of an evaluation. For `--custom-eval-rollout-log-function-path`."""
    _RECORDER.take("eval", rollout_id, args, data)
    return False
