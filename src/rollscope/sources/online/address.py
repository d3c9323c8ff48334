"""Addresses such as `wandb://entity/project/run`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rollscope.errors import BadInput

EXPECTED = "expected wandb://entity/project or wandb://entity/project/run"
PART = re.compile(r"[\w][\w .@+-]*")


@dataclass(frozen=True, slots=True)
class Address:
    """A project of an entity, or one run of it."""

    entity: str
    project: str
    run: str | None = None

    def __str__(self) -> str:
        return "/".join(["wandb:/", self.entity, self.project, *([self.run] if self.run else [])])


def is_address(text: str) -> bool:
    return "://" in text


def address(text: str) -> Address:
    """The address in a text, or an error that says what was expected."""
    scheme, _, rest = text.partition("://")
    parts = rest.rstrip("/").split("/")
    if len(parts) == 4 and parts[2] == "runs":  # as in the address of a page
        parts.pop(2)
    if scheme != "wandb" or not 2 <= len(parts) <= 3 or not all(map(PART.fullmatch, parts)):
        raise BadInput(f"{text[:200]!r} is no address of runs: {EXPECTED}.")
    return Address(*parts)
