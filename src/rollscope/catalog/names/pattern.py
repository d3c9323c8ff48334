"""Names with holes, such as `rewards/{function}/mean` and `critic/score/{mean,max,min}`.

A name without holes is looked up in a dictionary; a name with holes becomes a regular expression.
Braces with a comma or an equals sign are a choice of statistics. The framework's word for the
statistic stands to the left of `=`, ours to the right.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

HOLE = re.compile(r"\{([^{}]*)\}")
NUMBERS = {"k", "n", "i", "layer", "version", "gpu"}  # placeholders that match an integer
LONGEST, PARTS = 300, 16  # of a name that fills holes; matching a longer one may take minutes
GREEDY = {"set"}  # placeholders that match greedily, for evaluation sets such as openai/gsm8k


@dataclass(frozen=True, slots=True)
class Spelling:
    """A pattern with one choice of statistic; its placeholders are still open."""

    text: str
    stat: str = ""

    @property
    def literal(self) -> bool:
        return "{" not in self.text

    @property
    def weight(self) -> int:
        """How specific the spelling is: its number of literal characters."""
        return len(HOLE.sub("", self.text))

    def match(self, name: str) -> dict[str, str] | None:
        """The text in each hole, or None if the name does not match."""
        if self.literal:
            return {} if name == self.text else None
        if len(name) > LONGEST or name.count("/") > PARTS:
            return None
        match = _regex(self.text).fullmatch(name)
        return None if match is None else match.groupdict()

    def fill(self, bindings: Mapping[str, str]) -> str | None:
        """The text with its holes filled, or None if a binding is missing."""
        holes = HOLE.findall(self.text)
        if not all(hole in bindings for hole in holes):
            return None
        return HOLE.sub(lambda hole: bindings[hole.group(1)], self.text)


def spellings(pattern: str) -> Iterator[Spelling]:
    """Yield one spelling for each choice of statistics in a pattern.

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
    expression = ""
    for i, part in enumerate(parts):
        if not i % 2:
            expression += re.escape(part)
        elif part in seen:
            expression += f"(?P={part})"
        else:
            seen.add(part)
            expression += f"(?P<{part}>{'[0-9]+' if part in NUMBERS else '.+' if part in GREEDY else '.+?'})"
    return re.compile(expression)
