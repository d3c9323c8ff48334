"""The map of the rooms, as a table that runs: who may look at whom."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rollscope"

SEES: dict[str, set[str]] = {  # a room, and the rooms it may look into
    "errors": set(),
    "catalog": {"errors"},
    "kernels": {"catalog", "errors"},
    "store": {"errors", "catalog.partial"},  # to merge partials on reading, and nothing more of the catalogue
    "sinks": {"catalog", "store", "errors"},
    "record": {"catalog", "kernels", "sinks", "store", "errors"},
    "sources": {"catalog", "record", "sinks", "store", "errors"},
    "trainer": {"catalog", "kernels", "record", "sinks", "store", "errors"},
    "views": {"catalog", "store", "errors"},
    "diagnose": {"catalog", "store", "views", "errors"},
    "server": {"catalog", "store", "views", "diagnose", "errors"},
    "cli": {"catalog", "kernels", "store", "sinks", "record", "sources", "views", "diagnose", "trainer", "server", "errors"},
}


def imports(path: Path) -> set[str]:
    """Rooms of ours that a file imports, anywhere in it; `catalog.partial` is a room of its own for who may see no more."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [f"{node.module}.{a.name}" for a in node.names]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        found |= {"catalog.partial" if name.startswith("rollscope.catalog.partial") else name.split(".")[1] for name in names if name.startswith("rollscope.")}
    return found & (set(SEES) | {"catalog.partial"})  # `from rollscope import __version__` is no room


@pytest.mark.parametrize("room", sorted(SEES))
def test_a_room_sees_only_its_neighbours(room: str) -> None:
    files = [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).rglob("*.py"))
    for path in files:
        sees = SEES[room] | {room} | ({"catalog.partial"} if "catalog" in SEES[room] | {room} else set())
        strangers = imports(path) - sees
        assert not strangers, f"{path.relative_to(SOURCE)} imports {sorted(strangers)}; {room} sees only {sorted(SEES[room])}"


def test_every_room_is_on_the_map() -> None:
    rooms = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name not in ("__pycache__", "web")} | {"errors"}
    assert rooms == set(SEES)
