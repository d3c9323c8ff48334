"""A run's checkpoint: one file in the run's folder.

It is written to another name and renamed, so a complete checkpoint always exists.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from rollscope.errors import NotFound


def path(folder: str | Path) -> Path:
    return Path(folder) / "checkpoint" / "last.pt"


def save(folder: str | Path, state: dict[str, Any]) -> Path:
    target = path(folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_suffix(".part")
    torch.save(state, aside)
    os.replace(aside, target)
    return target


def find(folder: str | Path) -> Path:
    if not path(folder).is_file():
        raise NotFound(
            f"there is no checkpoint to resume from at {str(path(folder))!r}."
            " Runs write one every checkpoint.every steps and at their end"
        )
    return path(folder)


def load(folder: str | Path) -> dict[str, Any]:
    # `weights_only` is off: the file is our own, and it holds the states of random generators.
    state: dict[str, Any] = torch.load(find(folder), weights_only=False)
    return state
