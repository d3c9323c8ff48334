"""What differs between runs: settings, packages, code and hardware, under dotted keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollscope.store.run import Run

SEED = re.compile(r"(^|[._])(seed|random_seed|data_seed|rng_seed|seed_everything)$")
PLACE = re.compile(r"(^|[._])(output_dir|logging_dir|save_dir|log_dir|run_name|experiment_name|name|id|port)$")
KINDS = (("packages.", "package"), ("git.", "code"), ("hardware.", "hardware"))
HARDWARE = ("gpus", "gpu", "cpu", "host", "cuda", "python")


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that differs between runs; None: a run does not have it."""

    key: str
    values: tuple[Any, ...]

    @property
    def kind(self) -> str:
        """Setting, package, code or hardware."""
        return next((kind for prefix, kind in KINDS if self.key.startswith(prefix)), "setting")


def differences(facts: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Values that are not equal in all nested mappings, under dotted keys."""
    tables = [dict(flat(one)) for one in facts]
    keys = sorted({key for one in tables for key in one})
    rows = [Difference(key, tuple(one.get(key) for one in tables)) for key in keys]
    return [row for row in rows if any(value != row.values[0] for value in row.values[1:])]


def flat(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no mapping, under its dotted key."""
    for key, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def settings(run: Run) -> dict[str, Any]:
    """What was chosen for a run: its configuration, algorithm, framework, code and packages."""
    facts = run.facts
    environment = facts.get("environment") or {}
    code = {key: environment[key] for key in ("git", "packages") if environment.get(key)}
    hardware = {key: environment[key] for key in HARDWARE if environment.get(key)}
    chosen = {"config": run.config, **{key: facts.get(key) for key in ("algorithm", "framework")}, **code}
    return {**chosen, "hardware": hardware} if hardware else chosen


def factors(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that make a run what it is: all but the seed, and where its files lie."""
    return {key: value for key, value in flat(config) if not SEED.search(key) and not PLACE.search(key)}
