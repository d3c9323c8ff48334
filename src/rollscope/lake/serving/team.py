"""`team.toml` in a lake's folder: what its servers hold a team to. Without it there is no limit."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from rollscope.errors import BadInput, CorruptFile, nearest
from rollscope.lake.place import Place
from rollscope.store import regular_file

from .quotas import bytes_of

NAME = "team.toml"
TABLES = ("quota",)


@dataclass(frozen=True, slots=True)
class Team:
    quotas: dict[str, int] = field(default_factory=dict)  # project -> bytes


def read(place: Place) -> Team:
    path = os.path.join(place.folder, NAME)
    if not os.path.lexists(path):
        return Team()
    try:
        said = regular_file.read_toml(path)
    except (OSError, ValueError) as error:
        raise CorruptFile(f"{path} cannot be read ({error}). See docs/lake.md for what it may say.") from error
    for name in said:
        if name not in TABLES:
            raise BadInput(f"{path} has an unknown table [{name[:40]}].{nearest(name, TABLES)}")
    return Team(_quotas(path, said.get("quota", {})))


def _quotas(path: str, said: Any) -> dict[str, int]:
    if not isinstance(said, dict):
        raise BadInput(f"[quota] of {path} is a table: project = '200 GB'")
    return {str(project): bytes_of(size, f"the quota of {project[:80]!r} in {path}") for project, size in said.items()}
