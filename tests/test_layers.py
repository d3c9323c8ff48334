"""The map of the rooms, as tables that run:
who may look at whom, from house to house and from room to room.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "rollscope"

SEES: dict[str, set[str]] = {  # a house, and the houses it may look into
    "errors": set(),
    "strict_json": set(),
    "isolated": set(),
    "visible": set(),
    "memory": {"errors", "store"},
    "whole_file": {"errors"},
    "statistics": {"errors"},
    "catalog": {"errors"},
    "kernels": {"catalog", "errors"},
    "store": {
        "errors",
        "strict_json",
        "catalog.partials",
    },  # to merge partials on reading; nothing more of the catalogue
    "trust": {"errors", "store"},
    "access": {"errors", "strict_json", "store"},
    "sinks": {"catalog", "store", "errors", "strict_json", "visible"},
    "record": {"catalog", "kernels", "sinks", "store", "errors", "strict_json", "isolated", "visible"},
    "sources": {"catalog", "record", "sinks", "store", "errors", "strict_json", "visible"},
    "wandb": {"sources"},
    "trackio": {"sources"},
    "swanlab": {"sources"},
    "trainer": {"catalog", "kernels", "record", "sinks", "store", "errors", "isolated"},
    "views": {"catalog", "statistics", "store", "errors", "strict_json", "visible", "whole_file"},
    "lake": {"access", "catalog", "store", "views", "errors", "isolated", "memory"},
    "diagnose": {"catalog", "statistics", "store", "trust", "views", "errors", "isolated", "strict_json"},
    "notify": {"store", "diagnose", "errors", "visible"},
    "scan": {"lake", "store", "views", "errors", "isolated"},
    "recompute": {"catalog", "kernels", "lake", "scan", "store", "views", "errors"},
    "report": {"store", "views", "diagnose", "notify", "visible"},
    "server": {
        "access",
        "catalog",
        "statistics",
        "store",
        "trust",
        "views",
        "diagnose",
        "lake",
        "notify",
        "errors",
        "strict_json",
        "isolated",
    },
    "cli": {
        *(
            "access",
            "catalog",
            "statistics",
            "kernels",
            "store",
            "trust",
            "sinks",
            "record",
            "sources",
            "views",
            "diagnose",
            "lake",
            "notify",
            "recompute",
            "report",
            "scan",
            "trainer",
            "server",
        ),
        *("errors", "strict_json", "isolated", "memory", "visible", "whole_file"),
    },
}

INSIDE: dict[str, dict[str, set[str]]] = {  # a house, its rooms, and what each may look at inside the house
    "store": {
        "log": {"regular_file", "schema"},
        "numbers": {"arrow"},
        "live": {"log", "numbers", "arrow", "regular_file", "sample_ids", "schema"},
        "names": {"numbers", "live", "sealed"},
        "sealed": {"log", "numbers", "live", "arrow", "lazy", "regular_file", "sample_ids", "schema"},
        "project": {"listing", "live", "log", "notes", "regular_file"},
        "listing": {"live", "log", "regular_file", "run_json", "schema"},
        "seal": {"log", "numbers", "live", "sealed", "arrow", "folder", "run_json", "sample_ids", "state"},
        "series": {"numbers", "live", "sealed", "folder", "names", "naming"},
        "tables": {
            *("numbers", "live", "sealed"),
            *("arguments", "arrow", "folder", "lazy", "naming", "sample_ids", "schema", "state"),
        },
        "text": {"numbers", "live", "sealed", "arrow", "folder", "regular_file"},
    },
    "record": {
        "caller": {"loss", "run"},  # `run` for its type alone
        "write": {"caller", "clock", "loss", "thread"},
        "compute": {"caller", "write", "identity", "loss", "thread"},
        "watch": {"caller", "clock", "loss"},
        "about": {"loss", "settings", "spawn"},
    },
    "catalog": {
        "partials": set(),
        "compute": {"partials", "families", "keys", "spec"},
        "dialects": {"spec"},
        "names": {"families", "spec"},
        "families": {
            *("partials", "compute", "dialects", "names"),
            *("flops", "keys", "partition", "reported", "sequence", "spec"),
        },
    },
    "views": {
        "evals": set(),
        "compare": {"charts", "evals", "samples", "configuration", "dictionary"},
        "environment": {"failures"},
        "samples": {"dictionary", "let_go", "nullable"},
        "sets": {"samples", "nullable"},
        "time": {"dictionary", "steps"},
        "timeline": {"time"},
        "answers": {"time", "timeline"},
        "why": {"samples", "dictionary"},
        "charts": {"dictionary", "metric_info", "nullable"},
        "summary": {"charts", "configuration", "dictionary", "metric_info", "nullable"},
        "health": {"evals", "summary", "dictionary", "metric_info", "no_value"},
    },
    "server": {
        "front": {"security"},
        "questions": {"library"},
        "listing": {"doctor", "library"},
        "sign_in": {"listing", "errors", "library", "watcher"},
        "routes": {
            *("front", "questions", "listing", "sign_in"),
            *("deps", "doctor", "library", "packed", "reply", "shapes", "watcher"),
        },
    },
    "sources": {"files": set(), "sandbox": set(), "intake": {"files", "sandbox"}},
}


def imports(path: Path) -> set[str]:
    """Modules of ours that a file imports, anywhere in it, with absolute names below
    `rollscope`.
    """
    package = path.relative_to(SOURCE.parent).parts[:-1]
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("rollscope.") for name in names if name.startswith("rollscope.")}


def houses(path: Path) -> set[str]:
    """Houses that a file looks into; `catalog.partials` is one of its own for who may see no
    more.
    """
    seen = {"catalog.partials" if n.startswith("catalog.partials") else n.split(".")[0] for n in imports(path)}
    return seen & (set(SEES) | {"catalog.partials"})  # `from rollscope import __version__` is no house


@pytest.mark.parametrize("house", sorted(SEES))
def test_a_house_sees_only_its_neighbours(house: str) -> None:
    one = SOURCE / f"{house}.py"
    for path in [one] if one.exists() else sorted((SOURCE / house).rglob("*.py")):
        sees = SEES[house] | {house} | ({"catalog.partials"} if "catalog" in SEES[house] | {house} else set())
        strangers = houses(path) - sees
        where = path.relative_to(SOURCE)
        assert not strangers, f"{where} imports {sorted(strangers)}; {house} sees only {sorted(SEES[house])}"


def test_every_house_is_on_the_map() -> None:
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name not in ("__pycache__", "web")}
    files = {p.stem for p in SOURCE.glob("*.py") if not p.stem.startswith("__")}
    assert folders | files == set(SEES)


ROOMS = [(house, room) for house, rooms in INSIDE.items() for room in rooms]


@pytest.mark.parametrize(("house", "room"), ROOMS, ids=[f"{house}/{room}" for house, room in ROOMS])
def test_a_room_sees_only_its_neighbours(house: str, room: str) -> None:
    neighbours = {p.stem for p in (SOURCE / house).iterdir() if p.stem != "__init__"}
    for path in sorted((SOURCE / house / room).rglob("*.py")):
        seen = {n.split(".")[1] for n in imports(path) if n.split(".")[0] == house and n.count(".")} & neighbours
        strangers = seen - INSIDE[house][room] - {room}
        allowed = sorted(INSIDE[house][room])
        assert not strangers, f"{path.relative_to(SOURCE)} imports {sorted(strangers)}; {room} sees only {allowed}"


@pytest.mark.parametrize("house", ["store", "record", "catalog", "views", "server"])
def test_every_room_of_a_house_is_on_the_map(house: str) -> None:
    assert {p.parent.name for p in (SOURCE / house).glob("*/__init__.py")} == set(INSIDE[house])


def _wrong(path: Path, node: ast.ImportFrom) -> str:
    """What is wrong with how an import is written; nothing where it is right."""
    here, module = ".".join(path.relative_to(SOURCE.parent).parts[:-1]), node.module or ""
    if node.level > 1 or (node.level == 1 and "." in module):
        return "reaches out of its room with dots"
    own = (
        not node.level and module.rpartition(".")[0] == here and not (SOURCE.parent / module.replace(".", "/")).is_dir()
    )
    return "names its own room in full" if own and path.name != "__init__.py" else ""


def test_imports_are_absolute_across_rooms_and_relative_inside_one() -> None:
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (why := _wrong(path, node)):
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno} {why}")
    assert not found, "\n".join(found)
