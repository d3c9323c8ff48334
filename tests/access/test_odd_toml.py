"""Files that people write by hand may be anything; each is refused in a sentence, at once."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.access import people
from rollscope.diagnose.thresholds import thresholds
from rollscope.lake import place
from rollscope.lake.serving import team
from rollscope.store import regular_file

NOBODY = 65534
LAKE = place.Place("", "0" * 32, place.CATALOG, place.DATA)


def _open(path: Path) -> None:
    rs.open(path.parent)


def _read_place(path: Path) -> None:
    place.read(path.parent)


def _read_team(path: Path) -> None:
    team.read(place.Place(str(path.parent), LAKE.id, LAKE.catalog, LAKE.data))


def _read_people(path: Path) -> None:
    people.read(str(path))


def _read_thresholds(path: Path) -> None:
    thresholds(str(path.parent.parent), {})


READERS = {
    "lake.toml": _open,
    "lake.toml of a command": _read_place,
    "team.toml": _read_team,
    "people.toml": _read_people,
    "doctor.toml": _read_thresholds,
}


def _long(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "a pipe"),
    "a folder": (Path.mkdir, "a folder"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "a device"),
    "a link to itself": (lambda path: path.symlink_to(path), "symbolic links"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "No such file"),
    "a gigabyte": (_long, "larger than"),
    "nested deeply": (lambda path: path.write_text("x = " + "[" * 100_000), "nested too deeply"),
    "nested by tables": (lambda path: path.write_text("x = " + "{y = " * 100_000), "nested too deeply"),
    "a key of many parts": (lambda path: path.write_text("a." * 100_000 + "a = 1"), "more than 100 parts"),
    "a table of many parts": (lambda path: path.write_text("[" + '"a" . ' * 100_000 + "a]"), "more than 100 parts"),
    "no UTF-8": (lambda path: path.write_bytes(b"x = '\xff\xfe'"), "codec can't decode"),
    "UTF-16": (lambda path: path.write_text("format = 1", encoding="utf-16"), "codec can't decode"),
    "no TOML": (lambda path: path.write_bytes(b"\0" * 1000), "Invalid"),
    "a number of many digits": (lambda path: path.write_text("format = " + "9" * 100_000), "limit"),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", READERS)
def test_an_odd_file_is_refused_in_a_sentence(name: str, odd: str, tmp_path: Path) -> None:
    path = _path(tmp_path, name)
    make, says = ODD[odd]
    make(path)
    with pytest.raises(rs.RollscopeError) as raised:
        READERS[name](path)
    assert says in str(raised.value) and str(path) in str(raised.value)


@pytest.mark.parametrize(
    "text", ["# " + "." * 500, f"# it's\nx = '{'10.0.0.1 ' * 99}'", f'x = "a \\" {"b." * 500}" # "']
)
def test_dots_in_comments_and_texts_are_no_parts_of_a_key(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(f"{text}\ny.z = 1\n")
    assert regular_file.read_toml(str(tmp_path / "x.toml"))["y"] == {"z": 1}


def test_a_text_that_does_not_end_is_looked_at_once(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('x = "' + '\\"' * 1_000_000)
    with pytest.raises(ValueError, match=r"Unterminated|Expected|Illegal"):
        regular_file.read_toml(str(tmp_path / "x.toml"))


def _path(folder: Path, name: str) -> Path:
    name = name.partition(" ")[0]
    if name == "doctor.toml":
        folder = folder / ".rollscope"
        folder.mkdir()
    return folder / name


@contextlib.contextmanager
def _as_nobody() -> Iterator[None]:
    """Root reads everything, so another user looks."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_may_not_be_read_is_said(name: str) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as root:  # pytest's own folders are private
        os.chmod(root, 0o755)
        path = _path(Path(root), name)
        path.parent.chmod(0o755)
        path.write_text("format = 1")
        path.chmod(0)
        with _as_nobody(), pytest.raises(rs.RollscopeError, match="Permission denied"):
            READERS[name](path)


def test_a_long_list_of_names_with_dots_is_read(tmp_path: Path) -> None:
    names = ", ".join(f'"a.b.c/{i}.x"' for i in range(1000))
    path = tmp_path / "people.toml"
    who = '[person."ann.b@example.org"]\nmay = "read"\n'
    provider = 'issuer = "https://login.example.org"\nclient = "r"\naddress = "https://runs.example.org"\n'
    path.write_text(f"{provider}{who}projects = [{names}]\n")
    assert len(people.read(str(path)).persons["ann.b@example.org"].projects) == 1000
