"""A monitor for Trinity-RFT: explorer and trainer log into one run, under their own names."""

from __future__ import annotations

import dataclasses
import re
import sys
import time
from typing import Any

from trinity.utils.monitor import Monitor

from rollscope.sources.intake.tables import sample
from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.stages import PLACED, stages
from rollscope.sources.live.values import by_split, numbers
from rollscope.sources.ray import attach

EXPLORE = "explore_step"  # the explorer counts batches of tasks, not updates
STAGES = ("read_experience", "train_step", "sync_weight", "save_checkpoint")  # of the trainer, in order


def started(project: str, name: str, /, **more: Any) -> Any:
    """The run of a job. All have one id: the second to start finds the run alive and joins it."""
    from rollscope.record.start import init

    version = getattr(sys.modules.get("trinity"), "__version__", "")
    facts: dict[str, Any] = {
        "id": re.sub(r"[^\w.-]+", "-", f"{project}-{name}"),
        "project": project,
        "name": name,
        "shard": 0,
        "shards": 1,
        "framework": f"trinity@{version}" if version else "trinity",
    }
    return init(**{**facts, **more})


class RollscopeMonitor(Monitor):  # type: ignore[misc]
    def __init__(self, project: str, group: str, name: str, role: str, config: Any = None) -> None:
        self.project, self.group, self.name, self.role, self.config = project, group, name, role, config
        self._run: Any = None
        self._begin()

    @quiet
    def _begin(self) -> None:
        options = dict(getattr(getattr(self.config, "monitor", None), "monitor_args", None) or {})
        facts = {
            "group": self.group or None,
            "config": _plain(self.config),
            "algorithm": getattr(getattr(self.config, "algorithm", None), "algorithm_type", None),
        }
        self._run = started(self.project, self.name, **{**facts, **options})
        attach(self._run)

    @quiet
    def log(self, data: dict[str, Any], step: int, commit: bool = False) -> None:
        if self._run is None:
            return
        clock = EXPLORE if self.role == "explorer" else None
        for split, values in by_split(numbers(data), lambda name: name.startswith(("eval/", "bench/"))):
            self._run.log(values, step=step, split=split, clock=clock)
        if self.role == "trainer":
            seconds = {name: data.get(f"time/{name}") for name in STAGES}
            for name, start, end in stages(seconds, time.time_ns()):
                self._run.log_span(name, start, end, lane="trainer/0", step=step, placed=PLACED)

    @quiet
    def log_table(self, table_name: str, experiences_table: Any, step: int) -> None:
        if self._run is None:
            return
        rows = enumerate(experiences_table.to_dict("records"))
        samples = [sample(row, f"{table_name}/{step}/{i}", step, 0) for i, row in rows]
        self._run.log_samples([{k: v for k, v in one.items() if k != "time_ns"} for one in samples if one], step=step)

    @quiet
    def close(self) -> None:
        run, self._run = getattr(self, "_run", None), None
        if run is not None:
            run.finish()


def _plain(config: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        return dataclasses.asdict(config)
    return dict(config) if isinstance(config, dict) else {}
