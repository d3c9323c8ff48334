"""The house stays one to live in:
rooms of a size one can see, each with a sentence, no file too long to read.
"""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rollscope"
MANY_ALIKE = {"families", "rules", "sources", "cli", "pages"}  # a folder of instances of one idea
MOST_MODULES = 16
MOST_LINES = 300
TABLES = {  # files that are tables: rows of one shape, no logic to follow
    "catalog/names/published.py",
    "catalog/guidance.py",
    "catalog/names/operations.py",
}

FOLDERS = sorted(
    {p.parent for p in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.js")] if not {"vendor", "site"} & {*p.parts}}
)


@pytest.mark.parametrize("folder", FOLDERS, ids=[str(f.relative_to(SOURCE.parent)) for f in FOLDERS])
def test_a_room_holds_few_modules_or_many_alike(folder: Path) -> None:
    modules = [p for p in folder.iterdir() if p.suffix in (".py", ".js") and p.name != "__init__.py"]
    assert folder.name in MANY_ALIKE or len(modules) <= MOST_MODULES


PACKAGES = [folder for folder in FOLDERS if any(folder.glob("*.py"))]


@pytest.mark.parametrize("folder", PACKAGES, ids=[str(f.relative_to(SOURCE.parent)) for f in PACKAGES])
def test_a_room_says_what_it_is_for(folder: Path) -> None:
    sentence = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    assert len(sentence) > 30 and sentence.split("\n")[0].endswith((".", ":")), "no sentence in its __init__.py"


def test_no_module_is_too_long_to_read() -> None:
    """Families and the tables above are lists of entries; everything else is read from top to
    bottom.
    """
    long = {}
    for path in [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.js")]:
        name = str(path.relative_to(SOURCE))
        if "vendor" in path.parts or "families" in path.parts or name in TABLES:
            continue
        lines = len(path.read_text().splitlines())
        if lines > MOST_LINES:
            long[name] = lines
    assert not long


def test_no_package_of_tests_hides_a_library() -> None:
    """A package of tests is imported by its folder's name: one called `statistics` would be
    found by every program that imports Python's own.
    """
    folders = os.walk(Path(__file__).parent)  # npm may be at work in one of them
    packages = {Path(folder).name for folder, _, files in folders if "__init__.py" in files}
    assert not packages & sys.stdlib_module_names
