"""A disk without room: a command says so, leaves what was there, and works when there is room."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.cli import main

STEPS = 40
WHOLE = {
    "report": ["report", "r", "-o", "{out}.html", "--force"],
    "report as Markdown": ["report", "r", "-o", "{out}.md", "--force"],
    "export parquet": ["export", "r", "--format", "parquet", "--out", "{out}"],
    "export csv": ["export", "r", "--format", "csv", "--out", "{out}"],
    "export jsonl": ["export", "r", "--format", "jsonl", "--out", "{out}"],
    "export tensorboard": ["export", "r", "--format", "tensorboard", "--out", "{out}"],
    "export chrome": ["export", "r", "--format", "chrome", "--out", "{out}.json"],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    with rs.init(id="r", dir=root, host=False, algorithm="grpo") as run:
        for step in range(STEPS):
            with run.span("generate"):
                run.log({f"m/{i}": step * i / 7 for i in range(20)}, step=step)
            rows = [{"id": f"{step}.{i}", "reward": i / 4, "completion": os.urandom(200).hex()} for i in range(4)]
            run.log_samples(rows, step=step)
    return root


@contextlib.contextmanager
def room(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("size", [0, 1000])
@pytest.mark.parametrize("name", WHOLE)
def test_a_file_that_was_asked_for_is_whole_or_not_there(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, size: int
) -> None:
    words = [word.format(out=tmp_path / "out") for word in WHOLE[name]]
    assert main([*words, "--dir", str(root)]) == 0
    before = {path: len(raw) for path, raw in files(tmp_path).items()}
    if name != "export tensorboard":  # whose files have new names
        (tmp_path / max(before, key=lambda path: before[path])).write_text("old")
    with room(size):
        assert main([*words, "--dir", str(root)]) == 2
    said = capsys.readouterr().err
    assert "cannot be written (File too large); nothing of it was kept" in said and "Traceback" not in said
    after = files(tmp_path)
    assert after.keys() == before.keys()
    assert all(raw == b"old" or len(raw) == before[path] or len(raw) <= size for path, raw in after.items())
    assert main([*words, "--dir", str(root)]) == 0
    assert {path: len(raw) for path, raw in files(tmp_path).items()}.items() >= before.items()


@pytest.mark.parametrize("size", [0, 100, 500, 3000])
def test_an_import_says_that_the_disk_is_full_and_goes_on_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], size: int
) -> None:
    log, runs = tmp_path / "log.jsonl", tmp_path / "runs"
    rows = [{"step": step, **{f"a/{i}": step * i / 7 for i in range(20)}} for step in range(STEPS)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with room(size):
        assert main(["import", str(log), "--dir", str(runs)]) == 2
    said = capsys.readouterr()
    assert "cannot be written (File too large)" in said.err and "cannot be read" not in said.out
    assert not [path for path in files(tmp_path) if path.endswith(".new")]
    assert main(["import", str(log), "--dir", str(runs)]) == 0
    [run] = rs.open(runs).runs()
    series = rs.open(runs).run(run.id).series("a/7")
    assert series["step"].tolist() == list(range(STEPS)) and series["value"].tolist() == list(map(float, range(STEPS)))


@pytest.fixture
def read_only(root: Path, tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "locked"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True).returncode:
        pytest.skip("mounting a tmpfs is not allowed here, and root may write anywhere")
    try:
        shutil.copytree(root / "r", folder / "r")
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_folder_that_cannot_be_written_is_read_and_diagnosed(
    read_only: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(read_only)
    assert main(["doctor", "r", "--dir", str(read_only)]) in (0, 1) and "needs" in capsys.readouterr().out
    assert main(["compact", "r", "--force", "--dir", str(read_only)]) == 1
    assert "was not compacted: Read-only file system. Its logs and sets are as they" in capsys.readouterr().out
    assert files(read_only) == before


FOLLOW = """
import resource, sys, threading
from rollscope.cli import import_, main
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), hard))
def make_room():
    sys.stdin.readline()
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
threading.Thread(target=make_room, daemon=True).start()
sys.exit(main(["import", sys.argv[1], "--dir", sys.argv[2], "--follow", "--every", "0.05"]))
"""


def test_an_import_that_follows_waits_for_room(tmp_path: Path) -> None:
    log, runs = tmp_path / "log.jsonl", tmp_path / "runs"
    log.write_text(json.dumps({"step": 0, "a": 0.0}) + "\n")
    command = [sys.executable, "-c", FOLLOW, str(log), str(runs), "6000"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            assert "1 value is new" in process.stdout.readline()
            with log.open("a") as file:
                file.write("".join(json.dumps({"step": step, "a": step / 7}) + "\n" for step in range(1, 2000)))
            assert "cannot be written (File too large)" in process.stderr.readline()
            process.stdin.write("\n")
            process.stdin.flush()
            taken = 0
            while taken < 1999:  # the file may have been read while it was written
                taken += int(re.search(r"([\d,]+) values?", process.stdout.readline())[1].replace(",", ""))
            assert taken == 1999
        finally:
            process.terminate()
    [run] = rs.open(runs).runs()
    assert rs.open(runs).run(run.id).series("a")["value"].tolist() == [step / 7 for step in range(2000)]
