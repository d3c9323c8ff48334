"""Dialects: whose names a name belongs to.

A dialect is `framework[:trainer][@version]`, such as `trl:grpo@1.16`. Trainer and version may be
left out where the name is unambiguous without them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

from rollscope.catalog.spec import METRICS, Name
from rollscope.errors import BadInput, nearest

from .pattern import spellings
from .versions import admits

FIRST = ("verl", "openrlhf", "trl", "rlinf", "trinity", "telescope")  # their names stand beside the entries
LATER = (
    *("slime", "miles", "roll", "nemo_rl", "skyrl", "areal", "prime_rl", "verifiers", "tinker", "art", "rllm"),
    *("swift", "unsloth"),
)  # theirs stand in `dialects/`; without a dialect they are asked when the first ones have no answer
FRAMEWORKS = (*FIRST, *LATER)
LIKE = {"miles": "slime", "rllm": "verl", "swift": "trl", "unsloth": "trl", "verifiers": "prime_rl"}  # share names
NEWEST = "9999"


@dataclass(frozen=True, slots=True)
class Dialect:
    framework: str
    trainer: str = ""
    version: str = ""

    @classmethod
    def parse(cls, text: str) -> Dialect:
        """Parse `framework[:trainer][@version]`. Raises BadInput for an unknown framework."""
        words, _, version = text.strip().lower().partition("@")
        framework, _, trainer = words.partition(":")
        if framework not in FRAMEWORKS:
            raise BadInput(
                f"no dialect {text!r}: the framework must be one of {', '.join(FRAMEWORKS)}, "
                f"as in 'verl', 'trl:grpo' or 'trl:grpo@1.16'.{nearest(framework, FRAMEWORKS)}"
            )
        return cls(framework, trainer, version)

    def speaks(self, name: Name | None) -> bool:
        """Whether a framework's name belongs to this dialect."""
        if name is None or name.framework not in spoken_by(self.framework):
            return False
        if not admits(name.versions, self.version if name.framework == self.framework else ""):
            return False
        if not self.version and name in _superseded():
            return False
        return not self.trainer or not name.trainer or self.trainer in name.trainer.split(",")


@lru_cache(len(FRAMEWORKS))
def spoken_by(framework: str) -> tuple[str, ...]:
    """The frameworks whose names a framework logs: its own, and of the one that it builds on."""
    return (framework, LIKE[framework]) if framework in LIKE else (framework,)


def dialect_of(name: Name) -> str:
    trainer = f":{name.trainer}" if name.trainer else ""
    return f"{name.framework}{trainer}" + (f"@{name.versions}" if name.versions else "")


@lru_cache(maxsize=1)
def _superseded() -> frozenset[Name]:
    """Names of older versions whose key has another meaning in the newest version.

    A dialect without a version means the newest one, so it does not speak them.
    """
    import rollscope.catalog.families  # noqa: F401  # fills METRICS

    by_key: dict[tuple[str, str], list[Name]] = defaultdict(list)
    for name in {name for entry in METRICS.values() for name in entry.names if not name.override}:
        for spelling in spellings(name.key):
            by_key[name.framework, spelling.text].append(name)
    return frozenset(old for names in by_key.values() for old in names if _replaced(old, names))


def _replaced(old: Name, names: list[Name]) -> bool:
    if admits(old.versions, NEWEST):
        return False
    return any(admits(name.versions, NEWEST) and _covers(name, old) for name in names)


def _covers(new: Name, old: Name) -> bool:
    """Whether `new` names all trainers of `old`. A name without trainers covers only its like."""
    return set(old.trainer.split(",")) <= set(new.trainer.split(","))
