"""Small recorded runs for rules that read more than series."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import rollscope as rs
from rollscope.diagnose import Finding, diagnosis

Row = dict[str, Any]
Rows = Callable[[int], list[Row]]
Said = dict[str, Finding]  # by rule


def recorded(folder: Path, rows: Rows, steps: int = 20, log: Callable[[int], Row] | None = None, **facts: Any) -> Said:
    """The findings of a run with these samples at each step, by rule."""
    with rs.init(name="run", dir=str(folder), host=False, **facts) as run:
        for step in range(steps):
            samples = [{"id": f"{step}.{i}", **row} for i, row in enumerate(rows(step))]
            if samples:
                run.log_samples(samples, step=step)
            run.log({"custom/x": 1.0, **(log(step) if log else {})}, step=step)
    return said(folder, run.id)


def said(folder: Path, id: str) -> Said:
    found = diagnosis(rs.open(folder).run(id)).findings
    return {finding.rule: finding for finding in reversed(found)}


def nothing(step: int) -> list[Row]:
    """A run without samples."""
    return []


def sample(i: int, **more: Any) -> Row:
    return {"group": f"g{i // 4}", "task": f"t{i // 4}", "reward": float(i % 2), "trained": True, **more}


def sixteen(step: int) -> list[Row]:
    return [sample(i) for i in range(16)]


def failing(share: float, since: int = 10, until: int = 99, **more: Any) -> Rows:
    """A share of samples fails between two steps."""

    def rows(step: int) -> list[Row]:
        broken = int(share * 16) if since <= step <= until else 0
        failed = {"error": f"SandboxError: session {step} is gone", "reward": 0.0, "stop_reason": "error", **more}
        return [sample(i, **(failed if i < broken else {})) for i in range(16)]

    return rows


def answers(reward: Callable[[int], float], **more: Any) -> Rows:
    """The same sixteen answers in every step, paid by a function of the step."""

    def rows(step: int) -> list[Row]:
        return [sample(i, completion=f"the answer is four {i // 4}", reward=reward(step), **more) for i in range(16)]

    return rows
