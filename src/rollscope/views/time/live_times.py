"""Time metrics of a run that goes on: only steps that have new spans are computed again."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.views.steps import Series

from .times import times


class LiveTimes:
    """Kept beside a run's reader. A step is known by how many spans it has, wherever they lie by now."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._seen: dict[int, tuple[int, int]] = {}
        self._series: dict[str, Series] = {}

    def series(self) -> dict[str, Series]:
        now = self._marks()
        changed = sorted(step for step, mark in now.items() if self._seen.get(step) != mark)
        if self._seen.keys() - now.keys():  # an attempt was abandoned, or files are gone
            self._series, changed = {}, sorted(now)
        if len(changed) > len(now) // 2:
            self._series = times(self._run)
        elif changed:
            self._put(
                times(
                    self._run,
                    sorted(
                        {*changed, *(step - 1 for step in changed), *(step + 1 for step in changed if step + 1 in now)}
                    ),
                ),
                changed,
            )
        self._seen = now
        return self._series

    def _marks(self) -> dict[int, tuple[int, int]]:
        """Spans of each step, and samples: seconds per token need both. A step of an older attempt counts until the next one reaches it."""
        spans, samples = self._run.count_by_step("spans"), self._run.count_by_step("samples")
        resumes = self._run.resumes
        return {step: (count, samples[step] + 1_000_003 * resumes) for step, count in spans.items()}

    def _put(self, fresh: dict[str, Series], changed: list[int]) -> None:
        """Replace what was known of the changed steps; the step after one has a new beginning."""
        moved = np.array(sorted({*changed, *(step + 1 for step in changed)}), np.int64)
        for name in self._series.keys() | fresh.keys():
            new, old = fresh.get(name), self._series.get(name)
            parts = []
            if old is not None:
                keep = ~np.isin(old["step"], moved)
                parts.append({key: values[keep] for key, values in old.items()})
            if new is not None:
                keep = np.isin(new["step"], moved)
                parts.append({key: values[keep] for key, values in new.items()})
            joined = {key: np.concatenate([part[key] for part in parts]) for key in ("step", "value", "weight")}
            order = np.argsort(joined["step"], kind="stable")
            self._series[name] = {key: values[order] for key, values in joined.items()}
