"""What differs between runs: settings, packages, code and hardware, under dotted keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollscope.store.run import Run
from rollscope.views.configuration import flat

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


def settings(run: Run) -> dict[str, Any]:
    """What was chosen for a run: its configuration, algorithm, framework, code and packages."""
    facts = run.facts
    environment = facts.get("environment") or {}
    code = {key: environment[key] for key in ("git", "packages") if environment.get(key)}
    hardware = {key: environment[key] for key in HARDWARE if environment.get(key)}
    chosen = {"config": run.config, **{key: facts.get(key) for key in ("algorithm", "framework")}, **code}
    return {**chosen, "hardware": hardware} if hardware else chosen
