"""Every source, also one that is added later: damaged and hostile files cost only themselves."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rollscope.sources import sources
from rollscope.sources.sandbox.limits import MB, Limits
from tests.sources.good_files import GOOD
from tests.sources.test_damage import cut, flipped, overwritten, reported

NAMES = {module.__name__.rpartition(".")[2]: module.NAMES for module in sources()}
LIMITS = Limits(memory=800 * MB, seconds=20, output=16 * MB, memory_factor=0, output_factor=0)
DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
HOSTILE: tuple[Any, ...] = (  # values that no framework writes there
    *(None, True, -1, 0, 2**70, -(2**63), 1e308, float("nan"), float("inf"), "", "\ud800", "\0", "x" * 100_000),
    *("../../../../etc/passwd", "/etc/passwd", "C:\\con", "<script>alert(1)</script>", "NaN", "1e999", "'; drop table"),
    *([], {}, [None], [[]], {"": {}}, DEEP, ["x"] * 3000, {str(i): i for i in range(3000)}, [1e308, -1, "x"]),
)


def test_every_source_has_a_good_file() -> None:
    assert set(GOOD) == set(NAMES), "tests/sources/good_files.py needs one for each source, and no other"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Path]]:
    """The folder and the file of a source, written once."""
    made: dict[str, tuple[Path, Path]] = {}

    def write(name: str) -> tuple[Path, Path]:
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            made[name] = folder, GOOD[name](folder)
        return made[name]

    return write


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_good_file_is_read_by_its_source(name: str, written: Any, imported: Any) -> None:
    _, file = written(name)
    report = imported.take(file)
    assert report.files[str(file)] == NAMES[name][0] and not reported(report, "Please report")
    assert sum(run["values"] + run["rows"] for run in report.runs.values()) > 0


def copied(source: tuple[Path, Path], harmed: list[bytes], to: Path) -> Path:
    """A folder with a copy of the source's folder for each of these, which is its file there."""
    folder, file = source
    for i, data in enumerate(harmed):
        shutil.copytree(folder, to / str(i))
        (to / str(i) / file.relative_to(folder)).write_bytes(data)
    return to


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_damaged_file_never_fails_and_comes_once(name: str, written: Any, tmp_path: Path, imported: Any) -> None:
    source, draw = written(name), random.Random(name)
    data = source[1].read_bytes()
    harmed = [harm(data, draw) for harm in (cut, flipped, overwritten) for _ in range(2)]
    folder = copied(source, harmed, tmp_path / "damaged")
    assert not reported(imported.take(folder, limits=LIMITS), "Please report")
    assert all(run == {"values": 0, "rows": 0} for run in imported.take(folder, limits=LIMITS).runs.values())


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_hostile_file_ends_with_sentences_and_stays_inside(
    name: str, written: Any, tmp_path: Path, imported: Any
) -> None:
    source = written(name)
    harmed = list(hostile(source[1].read_bytes(), random.Random(name)))
    report = imported.take(copied(source, harmed, tmp_path / "hostile"), limits=LIMITS)
    assert not reported(report, "Please report")
    assert {path.name for path in tmp_path.iterdir()} <= {"hostile", "runs"}
    assert all(folder.is_dir() and not folder.is_symlink() for folder in imported.root.glob("*"))
    assert sum(file.stat().st_size for file in imported.root.rglob("*") if file.is_file()) < 200 * MB


def hostile(data: bytes, draw: random.Random) -> Iterator[bytes]:
    """Versions of a file that somebody wrote to do harm."""
    lines = _rows(data)
    if lines is None:  # sizes and offsets that lead nowhere, and a second file behind the first
        yield data[:16] + b"\xff" * (len(data) - 16)
        yield data[: len(data) // 2] + bytes(len(data) // 2)
        yield data + data
        return
    mutants = [json.dumps(_mutant(draw.choice(lines), value, draw)) for value in HOSTILE for _ in range(3)]
    if len(lines) > 1:
        yield "\n".join(mutants).encode("utf-8", "surrogatepass") + b"\n"
        yield data + b"{" * 100_000 + b"\n" + data
    else:
        yield from (text.encode("utf-8", "surrogatepass") for text in mutants[::8])


def _rows(data: bytes) -> list[Any] | None:
    """The JSON values of a file: one for each line, or one; None if it holds something else."""
    try:
        return [json.loads(data)]
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in data.splitlines() if line.strip()] or None
    except ValueError:
        return None


def _mutant(value: Any, instead: Any, draw: random.Random) -> Any:
    """A value with another one somewhere inside it."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.1:
        return instead
    if isinstance(value, list):
        at = draw.randrange(len(value))
        return [_mutant(one, instead, draw) if i == at else one for i, one in enumerate(value)]
    key = draw.choice(list(value))
    return {name: _mutant(one, instead, draw) if name == key else one for name, one in value.items()}
