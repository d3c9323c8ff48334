"""A monitor for Trinity-RFT: what the explorer and the trainer log goes into one run, as it is."""

from __future__ import annotations

import dataclasses
import re
import sys
from typing import Any

from trinity.utils.monitor import Monitor

from rollscope.sources.intake.gather import number
from rollscope.sources.intake.tables import sample

EXPLORE = "explore_step"  # the explorer counts batches of tasks, not updates


class RollscopeMonitor(Monitor):  # type: ignore[misc]
    def __init__(self, project: str, group: str, name: str, role: str, config: Any = None) -> None:
        self.project, self.group, self.name, self.role, self.config = project, group, name, role, config
        self._run: Any = None
        try:
            self._begin()
        except Exception as error:  # a monitor that cannot record must not stop training
            print(f"rollscope: nothing is recorded ({error!r}); training goes on", file=sys.stderr)

    def _begin(self) -> None:
        from rollscope.record.run import init

        version = getattr(sys.modules.get("trinity"), "__version__", "")
        told: dict[str, Any] = {
            "project": self.project,
            "name": self.name,
            "group": self.group or None,
            "config": _plain(self.config),
        }
        options = dict(getattr(getattr(self.config, "monitor", None), "monitor_args", None) or {})
        # one id for both roles: whoever comes second finds the run alive and joins it
        id = re.sub(r"[^\w.-]+", "-", f"{self.project}-{self.name}")
        algorithm = getattr(getattr(self.config, "algorithm", None), "algorithm_type", None)
        self._run = init(
            **{
                **told,
                "id": id,
                "shard": 0,
                "shards": 1,
                "algorithm": algorithm,
                "framework": f"trinity@{version}" if version else "trinity",
                **options,
            }
        )

    def log(self, data: dict[str, Any], step: int, commit: bool = False) -> None:
        if self._run is None:
            return
        numbers = {
            name: found
            for name, value in data.items()
            if (found := number(value.item() if hasattr(value, "item") else value)) is not None
        }
        clock = EXPLORE if self.role == "explorer" else None
        for split in ("eval", "train"):
            if some := {
                name: value
                for name, value in numbers.items()
                if name.startswith(("eval/", "bench/")) == (split == "eval")
            }:
                self._run.log(some, step=step, split=split, clock=clock)

    def log_table(self, table_name: str, experiences_table: Any, step: int) -> None:
        if self._run is None:
            return
        found = [
            sample(row, f"{table_name}/{step}/{i}", step, 0)
            for i, row in enumerate(experiences_table.to_dict("records"))
        ]
        self._run.log_samples([{k: v for k, v in one.items() if k != "time_ns"} for one in found if one], step=step)

    def close(self) -> None:
        run, self._run = getattr(self, "_run", None), None
        if run is not None:
            run.finish()


def _plain(config: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        return dataclasses.asdict(config)
    return dict(config) if isinstance(config, dict) else {}
