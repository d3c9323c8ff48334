"""A file is whole or not there; its readers stay the same; pipes are written to as they are."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from rollscope import whole_file


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    path.chmod(0o600)
    with whole_file.written(str(path)) as aside:
        Path(aside).write_text("new")
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == 0o600


def test_what_fails_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(KeyError), whole_file.written(str(path)) as aside:
        Path(aside).write_text("half")
        raise KeyError
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]


def test_a_pipe_is_written_to_under_the_name_of_a_descriptor() -> None:
    reading, writing = os.pipe()
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(os.read(reading, 100)))
    reader.start()
    with whole_file.written(f"/dev/fd/{writing}") as aside, open(aside, "wb") as file:
        file.write(b"hello")
    reader.join(60)
    os.close(reading)
    os.close(writing)
    assert heard == [b"hello"]
