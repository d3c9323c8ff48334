"""Names with holes: `rewards/{function}/mean`, `critic/score/{mean,max,min}`, `eval/{set}/{score}/best@{k}`.

A pattern is a literal when it has no placeholder, and then a dictionary finds it; else it is a regular expression. A word in
braces with a comma or an equals sign is a choice of statistics, spelled their way on the left of `=`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

HOLE = re.compile(r"\{([^{}]*)\}")
NUMBERS = {"k", "n", "i", "layer", "version", "gpu"}  # placeholders that are whole numbers
GREEDY = {"set"}  # placeholders that take as many parts as they can: evaluation sets are called openai/gsm8k


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write a pattern: the statistics are chosen, the placeholders still open."""

    text: str
    stat: str = ""

    @property
    def literal(self) -> bool:
        return "{" not in self.text

    @property
    def weight(self) -> int:
        """How specific it is: literal characters count."""
        return len(HOLE.sub("", self.text))

    def match(self, name: str) -> dict[str, str] | None:
        if self.literal:
            return {} if name == self.text else None
        found = _regex(self.text).fullmatch(name)
        return None if found is None else found.groupdict()

    def fill(self, bindings: Mapping[str, str]) -> str | None:
        """The text with its holes filled; None when a binding is missing."""
        holes = HOLE.findall(self.text)
        if not all(hole in bindings for hole in holes):
            return None
        return HOLE.sub(lambda hole: bindings[hole.group(1)], self.text)


def spellings(pattern: str) -> Iterator[Spelling]:
    """Every choice of statistics in a pattern.

    >>> [(s.text, s.stat) for s in spellings("len_{avg=mean,max}/{task}")]
    [('len_avg/{task}', 'mean'), ('len_max/{task}', 'max')]
    """
    parts = HOLE.split(pattern)  # text, hole, text, hole, ..., text
    options = [[(part, "")] if not i % 2 else _options(part) for i, part in enumerate(parts)]
    for choice in itertools.product(*options):
        yield Spelling("".join(text for text, _ in choice), next((stat for _, stat in choice if stat), ""))


def _options(hole: str) -> list[tuple[str, str]]:
    if "," not in hole and "=" not in hole:
        return [("{" + hole + "}", "")]
    pairs = [word.strip().partition("=") for word in hole.split(",")]
    return [(theirs, ours or theirs) for theirs, _, ours in pairs]


@lru_cache(maxsize=4096)
def _regex(text: str) -> re.Pattern[str]:
    parts = HOLE.split(text)
    seen: set[str] = set()
    out = []
    for i, part in enumerate(parts):
        if not i % 2:
            out.append(re.escape(part))
        elif part in seen:
            out.append(f"(?P={part})")
        else:
            seen.add(part)
            out.append(f"(?P<{part}>{'[0-9]+' if part in NUMBERS else '.+' if part in GREEDY else '.+?'})")
    return re.compile("".join(out))
