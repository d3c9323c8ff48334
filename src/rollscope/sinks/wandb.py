"""Weights & Biases. W&B drops values of an earlier `step=`, so the step is a metric of its own.

Steps may therefore come in any order: `rollscope/step` is declared as the x axis of every metric.
Samples are one table per step, under `samples`. Mode, entity and the like come from W&B's own
environment variables. Without `WANDB_MODE` and without a login it works offline.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import wandb

from . import Row
from .login import wandb_is_set_up
from .numbers import present, speakable
from .table import COLUMNS, by_step

STEP = "rollscope/step"


class WandbSink:
    """Writes one W&B run."""

    def __init__(self, info: Mapping[str, Any], dialect: str | None = None, **options: Any) -> None:
        self._dialect = dialect
        known = {key: info[key] for key in ("project", "name", "group") if info.get(key)}
        options = {
            "mode": mode(),
            "tags": info.get("tags"),
            "dir": str(info["dir"]) if info.get("dir") else None,
            "resume": "allow",
            **known,
            **options,
        }
        self._run: Any = wandb.init(config=speakable(info.get("config") or {}), reinit="create_new", **options)
        self._run.define_metric(STEP, hidden=True)
        self._run.define_metric("*", step_metric=STEP)

    def write(self, rows: Sequence[Row]) -> None:
        if self._run is None:
            raise RuntimeError("the wandb sink was closed")
        for row in rows:
            if row.table == "metrics":
                self._run.log({**present(row.data, self._dialect), STEP: row.step})
        for step, table in by_step(rows):
            self._run.log({"samples": wandb.Table(columns=list(COLUMNS), data=table), STEP: step})

    def close(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.finish()


def mode() -> str:
    """`WANDB_MODE`, else online only if W&B is set up: a recorder never stops to ask for a key."""
    return os.environ.get("WANDB_MODE") or ("online" if wandb_is_set_up() else "offline")
