"""Thresholds that a project sets: `.rollscope/doctor.toml` beside its runs, each with a reason.

    [truncation]
    watch = 0.3
    reason = "Answers are long here, and overlong ones are masked."

They are numbers, so they need no trust; but the reader of a finding sees them, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollscope.errors import BadInput, nearest
from rollscope.store import regular_file
from rollscope.trust.folders import NAME, project_folder

from .engine import Settings
from .rule import Rule

FILE = "doctor.toml"
MOST_BYTES = 1 << 20
LONGEST = 500  # characters of a reason


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold of a rule that a project has set."""

    rule: str
    name: str
    value: float
    default: float
    reason: str

    @property
    def sentence(self) -> str:
        return f"{self.name} is {self.value:g} in this project, {self.default:g} otherwise: {self.reason}"


def thresholds(root: str, rules: Mapping[str, Rule]) -> list[Threshold]:
    """The thresholds of the project that a run or a folder of runs belongs to.

    Raises BadInput with what is wrong in the file.
    """
    folder = project_folder(root)
    path = os.path.join(folder or "", NAME, FILE)
    if folder is None or not os.path.lexists(path):
        return []
    try:
        table = regular_file.read_toml(path, MOST_BYTES)
    except (OSError, ValueError) as error:  # no TOML, no text, or no file
        raise BadInput(f"{path} cannot be read: {error}. It holds tables of rules, as in [truncation]") from error
    return [one for rule, given in table.items() for one in _of_rule(path, rule, given, rules)]


def settings(some: Sequence[Threshold]) -> Settings:
    """Rule -> threshold -> value."""
    found: dict[str, dict[str, float]] = {}
    for one in some:
        found.setdefault(one.rule, {})[one.name] = one.value
    return found


def _of_rule(path: str, name: str, given: Any, rules: Mapping[str, Rule]) -> Iterator[Threshold]:
    if name not in rules:
        hint = f"`rollscope doctor --rules` lists them.{nearest(name, rules)}"
        raise BadInput(f"{path}: there is no rule {name[:80]!r}; {hint}")
    reason = given.get("reason") if isinstance(given, dict) else None
    if not isinstance(reason, str) or not reason.strip():
        raise BadInput(f'{path}: [{name}] has no reason; add one, as in reason = "Answers are long here."')
    known = rules[name].thresholds
    for word, value in given.items():
        if word == "reason":
            continue
        if word not in known:
            raise BadInput(
                f"{path}: the rule {name} has no threshold {word[:80]!r}; it has {', '.join(known) or 'none'}"
            )
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise BadInput(f"{path}: {word} of [{name}] is {value!r}, not a number")
        yield Threshold(name, word, float(value), known[word], " ".join(reason.split())[:LONGEST])
