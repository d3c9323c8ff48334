"""A rollout that a run's own recording has, and how a row of a dump is known to be of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Rollout:
    id: str
    prompt: str
    split: str | None
    has: frozenset[str]  # names of what the run knows of it
    has_turns: bool  # told one by one, not only counted
    completion: str = ""

    def is_of(self, row: Mapping[str, Any]) -> bool:
        """True for a row with this completion, or with none: it adds to the row that had one."""
        return row.get("completion") is None or words(row["completion"]) == self.completion

    def is_in(self, row: Mapping[str, Any]) -> bool:
        """True for a row with this prompt, or of which one prompt is the other in a template."""
        prompt, split = words(row.get("prompt")), row.get("split")
        return (prompt in self.prompt or self.prompt in prompt) and (split or self.split) == (self.split or split)


def words(text: Any) -> str:
    """Letters and digits: templates and special tokens differ in the rest."""
    return re.sub(r"[\W_]+", "", str(text)) if text is not None else ""
