"""The x axes of a program's values: the step it counts itself, or those of `define_metric`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rollscope.sources.intake.gather import number
from rollscope.sources.live.values import scalar

AXES = ("rollscope/step", "train/global_step", "training/global_step", "trainer/global_step")
# Axes that count optimiser updates; ART and tinker-cookbook have the last two.
STEPS = {*AXES, "training_step", "eval/snapshot/training_step"}
# slime and miles number rollouts, in their dumps too. They update once after each, unless batches
# are smaller.
ROLLOUTS, UPDATES = {"rollout/step", "eval/step"}, "train/step"
BATCH = ("rollout_batch_size", "n_samples_per_prompt", "global_batch_size")
Placed = tuple[int, str | None]  # a step, and the clock that it counts if not optimiser updates


class Axes:
    def __init__(self) -> None:
        self.of: dict[str, str] = {}  # name, or a prefix with `*` -> the metric on its x axis
        self._known: dict[str, str | None] = {}  # name -> its axis, once it was looked up
        self.last: dict[str, int] = {}  # axis -> its last reading
        self.once = False  # whether a rollout is one update

    @property
    def state(self) -> dict[str, Any]:
        """What `restore` needs to go on in another process."""
        return {"axes": dict(self.of), "last": dict(self.last), "once": self.once}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.of.update(state.get("axes", {}))
        self.last.update(state.get("last", {}))
        self.once = bool(state.get("once"))

    def define(self, name: str, axis: str | None) -> None:
        if axis:
            self.of[name] = axis
            self._known.clear()

    def configure(self, config: Mapping[str, Any]) -> None:
        """Learn from the configuration of slime or miles how many updates a rollout is."""
        prompts, samples, batch = (number(scalar(config.get(name))) for name in BATCH)
        if prompts and samples and batch:
            self.once = prompts * samples == batch

    def place(self, row: dict[str, Any], step: int) -> Iterator[tuple[Placed, dict[str, Any]]]:
        """The values of a row, by the step and the clock that they are drawn at."""
        main = next((reading for axis in AXES if (reading := _whole(row.get(axis))) is not None), None)
        if not self.of:
            yield (step if main is None else main, None), row
            return
        self._read(row)
        placed: dict[Placed, dict[str, Any]] = {}
        for name, value in row.items():
            at = self._own(name) or (step if main is None else main, None)
            placed.setdefault(at, {})[name] = value
        yield from placed.items()

    def _read(self, row: dict[str, Any]) -> None:
        for axis in {*self.of.values()} & row.keys():
            if (reading := _whole(row[axis])) is not None:
                self.last[axis] = reading

    def _own(self, name: str) -> Placed | None:
        """Where a value with an axis of its own belongs; None if it has none with a reading."""
        if name not in self._known:
            self._known[name] = self.of.get(name) or self._by_prefix(name)
        axis = self._known[name]
        if axis is None or axis not in self.last:
            return None
        return self.last[axis], None if self._counts_steps(axis) else axis

    def _counts_steps(self, axis: str) -> bool:
        by_rollout = self.of.get("rollout/*") in ROLLOUTS
        of_rollouts = by_rollout and (axis in ROLLOUTS or (axis == UPDATES and self.once))
        return of_rollouts or axis in STEPS or self.of.get("*") == axis

    def _by_prefix(self, name: str) -> str | None:
        """The axis of the longest prefix that fits."""
        fits = [glob for glob in self.of if glob.endswith("*") and name.startswith(glob[:-1])]
        return self.of[max(fits, key=len)] if fits else None


def _whole(value: Any) -> int | None:
    """A reading that can be a step: a whole number."""
    reading = number(scalar(value))
    return int(reading) if reading is not None and reading.is_integer() and abs(reading) < 2**63 else None
