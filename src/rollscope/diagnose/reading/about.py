"""What is known about a run beside its numbers: state, configuration, plan, and the clock."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rollscope.store.run import Run
from rollscope.views.compare.gpu_hours import gpus_of


@dataclass(frozen=True, slots=True)
class About:
    """The record of a run as rules read it."""

    state: str = "running"
    reason: str = ""
    algorithm: str = ""
    last_step: int = 0
    planned: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)
    silent_seconds: float = 0.0  # since anything was logged; 0 once the run has ended
    hours: float | None = None  # from the first row to the last
    gpus: float | None = None  # declared, configured, or those that the recording process saw
    gpu_hour_price: float | None = None
    currency: str = ""

    def until(self, step: int) -> About:
        """The record as it was at a step: before the last one the run went on."""
        if step >= self.last_step:
            return self
        return replace(self, state="running", reason="", last_step=step, silent_seconds=0.0)

    def setting(self, *words: str) -> Any | None:
        """The first setting whose name, without its sections, is one of these words."""
        flat = dict(_flat(self.config))
        return next((flat[word] for word in words if word in flat), None)


def about(run: Run) -> About:
    record = run.record()
    state = str(run.state)
    last = run.time_range[1]
    silent = max(0.0, (time.time_ns() - last) / 1e9) if state == "running" and last else 0.0
    known = About(config=run.config, declared=run.declared)
    return replace(
        known,
        state=state,
        reason=str(record.get("reason") or ""),
        algorithm=str(record.get("algorithm") or "").lower(),
        last_step=int(run.last_step or 0),
        planned=int(planned) if (planned := record.get("steps_planned")) else None,
        silent_seconds=silent,
        hours=_hours(run),
        gpus=gpus_of(run),
        gpu_hour_price=_number(known, "gpu_hour_price"),
        currency=str(known.declared.get("currency") or known.setting("currency") or ""),
    )


def _hours(run: Run) -> float | None:
    first, last = run.time_range
    return max(0.0, (last - first) / 3.6e12) if first and last else None


def _number(known: About, *words: str) -> float | None:
    """A fact that was declared, or the setting of that name, if it is a number above 0."""
    given = next((known.declared[word] for word in words if word in known.declared), known.setting(*words))
    return float(given) if isinstance(given, int | float) and not isinstance(given, bool) and given > 0 else None


def _flat(config: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Settings by their last word; of two, the one nearer the top wins."""
    found: list[tuple[str, Any]] = []
    for key, value in config.items():
        if isinstance(value, Mapping):
            found = [*_flat(value), *found]
        else:
            found.append((str(key).rsplit(".", 1)[-1], value))
    return found
