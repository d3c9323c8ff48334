"""Rules of a project: `.rollscope/rules/*.py`, as a person trusted them."""

from __future__ import annotations

import os
import tempfile

from rollscope.diagnose.engine import Diagnosis, Skipped, joined
from rollscope.errors import RollscopeError
from rollscope.trust import trusted
from rollscope.trust.folders import NAME, project_folder

from .ask import SECONDS, asked

RULES = "rules/"


def with_project(told: Diagnosis, run: str, seconds: float = SECONDS) -> Diagnosis:
    """A diagnosis with what the project's rules say. A file that is not trusted is skipped."""
    folder = project_folder(run)
    if folder is None or not os.path.isdir(os.path.join(folder, NAME, RULES)):
        return told
    try:
        pieces = [p for p in trusted.pieces(folder) if p.path.startswith(RULES) and p.path.endswith(".py")]
    except RollscopeError as error:
        return joined(told, Diagnosis(skipped=[Skipped(f"{NAME}/{RULES}", f"a folder that can be read: {error}")]))
    for piece in pieces:
        told = joined(told, _of_file(run, folder, piece.path, seconds))
    return told


def _of_file(run: str, folder: str, path: str, seconds: float) -> Diagnosis:
    """What the rules of a file say. Exactly the bytes that were trusted run, from a copy."""
    try:
        data = trusted.read(folder, path)
    except RollscopeError:
        needs = f"your trust: read the file, then run `rollscope trust {folder}`"
        return Diagnosis(skipped=[Skipped(f"{NAME}/{path}", needs)])
    with tempfile.TemporaryDirectory(prefix="rollscope-rules-") as place:
        copy = os.path.join(place, os.path.basename(path))
        with open(copy, "xb") as file:
            file.write(data)
        return asked(run, copy, seconds)
