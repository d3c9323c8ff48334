"""The process that reads files: what it cannot do, what it sends, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollscope.sources import Mark, Points, Records, Restart, RunStart, Skipped
from rollscope.sources.sandbox import frames
from rollscope.sources.sandbox.limits import Limits
from rollscope.sources.sandbox.reader import Ended, Reader
from tests.sources import bombs

LINE = '{"step": 1, "a": 0.5}\n'

ATTEMPT = """
import ctypes, errno, os, socket, subprocess, sys
import pyarrow, sqlite3
from rollscope.sources.sandbox.lockdown import lock_down, refuse_actions
inside, outside, what = sys.argv[1:]
lock_down([inside])
refuse_actions()
ATTEMPTS = {
    "read inside": lambda: open(f"{inside}/file").read(),
    "read inside without Python": lambda: pyarrow.OSFile(f"{inside}/file").read(),
    "read outside": lambda: open(f"{outside}/file").read(),
    "read outside without Python": lambda: pyarrow.OSFile(f"{outside}/file").read(),
    "read by a link": lambda: pyarrow.OSFile(f"{inside}/link").read(),
    "write": lambda: open(f"{inside}/new", "w"),
    "write without Python": lambda: pyarrow.OSFile(f"{inside}/new", "wb").write(b"x"),
    "append": lambda: open(f"{inside}/file", "a").write("x"),
    "remove": lambda: os.remove(f"{inside}/file"),
    "rename": lambda: os.rename(f"{inside}/file", f"{inside}/new"),
    "create a database": lambda: sqlite3.connect(f"{inside}/new.db").execute("create table t (a)"),
    "connect": lambda: socket.create_connection(("127.0.0.1", 9)),
    "resolve a name": lambda: socket.getaddrinfo("localhost", 80),
    "start a program": lambda: subprocess.run(["true"]),
    "start a shell": lambda: os.system("true"),
    "fork": lambda: os.fork(),
    "load code": lambda: ctypes.CDLL(None),
}
try:
    ATTEMPTS[what]()
except (PermissionError, sqlite3.OperationalError):
    print("refused", file=sys.stderr)
except OSError as error:
    print("refused" if error.errno in (errno.EACCES, errno.EFBIG) else repr(error), file=sys.stderr)
else:
    print("done", file=sys.stderr)
"""
REFUSED = (
    *("write", "write without Python", "append", "remove", "rename", "create a database", "connect"),
    *("resolve a name", "start a program", "start a shell", "fork", "load code"),
)
ENFORCED = ("read outside", "read outside without Python", "read by a link")  # by the kernel alone


def attempt(tmp_path: Path, what: str) -> bool:
    """Try something in a locked process; True if it could be done."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file").write_text("text")
    (inside / "link").symlink_to(outside / "file")
    command = [sys.executable, "-c", ATTEMPT, str(inside), str(outside), what]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (inside / "file").read_text() == "text" and {p.name for p in inside.iterdir()} == {"file", "link"}
    last = done.stderr.splitlines()[-1]
    assert last in ("done", "refused"), done.stderr
    return last == "done"


@pytest.mark.parametrize("what", ["read inside", "read inside without Python"])
def test_the_process_can_read_the_imported_folder(what: str, tmp_path: Path) -> None:
    assert attempt(tmp_path, what)


@pytest.mark.parametrize("what", REFUSED)
def test_the_process_can_do_nothing_else(what: str, tmp_path: Path) -> None:
    assert not attempt(tmp_path, what)


@pytest.fixture(scope="session")
def kernel_can() -> bool:
    """Can this kernel keep a process inside of a folder?"""
    code = "from rollscope.sources.sandbox.landlock import restrict; print(restrict(['/']))"
    return "True" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout


@pytest.mark.parametrize("what", ENFORCED)
def test_the_process_reads_nothing_outside_of_the_imported_folder(what: str, tmp_path: Path, kernel_can: bool) -> None:
    if not kernel_can:
        pytest.skip("this kernel has no Landlock")
    assert not attempt(tmp_path, what)


@pytest.fixture
def reader() -> Iterator[Reader]:
    reader = Reader(Limits())
    try:
        yield reader
    finally:
        reader.close()


def children() -> set[int]:
    pid = os.getpid()
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


@pytest.mark.skipif(not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(), reason="needs /proc")
class TestProcess:
    """The life of the process, seen from outside."""

    def started(self, reader: Reader, path: Path) -> int:
        before = children()
        reader.prepare([path])
        (pid,) = children() - before
        return pid

    def test_it_knows_nothing_of_the_environment(
        self, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_TOKEN", "secret")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "log.jsonl").write_text(LINE)
        for name in ("json", "numpy", "queue", "sitecustomize"):  # code that must not run
            (tmp_path / f"{name}.py").write_text("raise SystemExit(7)")
        pid = self.started(reader, tmp_path)
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        assert b"secret" not in environment and b"PYTHONPATH" not in environment
        assert not os.readlink(f"/proc/{pid}/cwd").startswith(str(tmp_path))
        assert next(iter(reader.read(tmp_path / "log.jsonl", {}))) == "jsonl"

    def test_none_is_left_behind(self, reader: Reader, tmp_path: Path) -> None:
        (tmp_path / "log.jsonl").write_text(LINE * 100_000)
        pid = self.started(reader, tmp_path)
        items = reader.read(tmp_path / "log.jsonl", {})
        assert next(items) == "jsonl"
        items.close()  # as when the importer is interrupted
        assert pid not in children()
        assert next(iter(reader.read(tmp_path / "log.jsonl", {}))) == "jsonl"
        reader.close()
        assert not [child for child in children() if "rollscope" in Path(f"/proc/{child}/cmdline").read_text()]

    def test_one_that_hangs_is_ended(self, reader: Reader, tmp_path: Path) -> None:
        (tmp_path / "log.jsonl").write_text(LINE)
        os.kill(self.started(reader, tmp_path), signal.SIGSTOP)
        reader._limits, usual = Limits(seconds=0.5), reader._limits
        with pytest.raises(Ended, match="more than 2 seconds"):
            list(reader.read(tmp_path / "log.jsonl", {}))
        reader._limits = usual
        assert "jsonl" in list(reader.read(tmp_path / "log.jsonl", {}))

    @pytest.mark.parametrize("how", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGXCPU])
    def test_one_that_dies_costs_its_file(self, how: int, reader: Reader, tmp_path: Path) -> None:
        (tmp_path / "log.jsonl").write_text(LINE)
        os.kill(self.started(reader, tmp_path), how)
        with pytest.raises(Ended, match=r"crash|memory|CPU time"):
            list(reader.read(tmp_path / "log.jsonl", {}))
        assert "jsonl" in list(reader.read(tmp_path / "log.jsonl", {}))


texts = st.text(st.characters(), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
rows = st.dictionaries(texts, values, max_size=3)
PLAIN = st.one_of(
    st.builds(RunStart, id=st.just("run-1"), kind=texts, facts=rows),
    st.builds(Records, st.just("samples"), st.lists(rows, min_size=1, max_size=3)),
    st.builds(Skipped, texts, st.just(Path("/file")), st.none() | st.integers(0, 2**60)),
    st.builds(Mark, values, st.integers(0, 9), st.integers(0, 9)),
    st.builds(Restart, texts),
)


def received(item: Any) -> list[Any]:
    items = []
    for frame in frames.encode(item):
        head, body = frames.LENGTHS.unpack_from(frame)
        at = frames.LENGTHS.size
        assert len(frame) == at + head + body
        items.append(frames.decode(frames.unpack(frame[at : at + head]), frame[at + head :], Path("/file")))
    return items


@given(PLAIN)
def test_an_item_arrives_as_it_was_sent(item: Any) -> None:
    assert received(item) == [item]


@given(st.integers(0, 5), st.integers(1, 4), st.booleans(), st.integers(0, 2**32))
def test_numbers_arrive_as_they_were_sent(count: int, names: int, wide: bool, seed: int) -> None:
    draw = np.random.default_rng(seed)
    numbers = draw.normal(size=(count, names) if wide else count)
    numbers[draw.random(numbers.shape) < 0.3] = np.nan
    step, time_ns = draw.integers(-(2**62), 2**62, (2, count))
    index = None if wide else draw.integers(0, names, count).astype(np.uint32)
    points = Points([f"n{i}" for i in range(names)], step, time_ns, numbers, index, "eval", 3, "clock")
    arrived = received(points)
    assert len(arrived) == (count > 0)
    for item in arrived:
        assert np.array_equal(item.step, step) and np.array_equal(item.time_ns, time_ns)
        assert np.array_equal(item.values, numbers, equal_nan=True)
        if index is not None:
            assert [item.names[i] for i in item.index] == [points.names[i] for i in index]
        assert (item.split, item.rank, item.clock) == ("eval", 3, "clock")


@given(
    st.dictionaries(st.sampled_from(["is", "id", "names", "rows", "table", "facts", "path", "texts"]), values),
    st.binary(),
)
@settings(max_examples=300)
def test_a_frame_of_a_hostile_sender_is_refused_or_harmless(head: dict[str, Any], body: bytes) -> None:
    for kind in ("points", "records", "run", "mark", "skipped", "restart", head.get("is")):
        try:
            frames.decode({**head, "is": kind}, body, Path("/file"))
        except frames.BadFrame:
            continue


def test_texts_of_rows_arrive_as_they_were_sent() -> None:
    rows = [{"id": "a", "prompt": "é", "completion": ""}, {"id": "b", "prompt": None}, {"id": "c", "prompt": "\ud800"}]
    assert received(Records("samples", rows)) == [Records("samples", rows)]


@pytest.mark.parametrize(
    "lengths", [{"prompt": [5]}, {"prompt": [1, 1]}, {"prompt": [-2]}, {"prompt": [True]}, {"p": "x"}]
)
def test_texts_that_do_not_fit_their_rows_are_refused(lengths: Any) -> None:
    with pytest.raises(frames.BadFrame):
        frames.decode({"is": "records", "table": "samples", "rows": [{}], "texts": lengths}, b"ab", Path("/file"))


@pytest.mark.parametrize("id", ["../x", "/etc", ".", "..", "", "a/b", "a\0b", "-x"])
def test_the_id_of_a_run_cannot_lead_out_of_the_folder_of_runs(id: str) -> None:
    with pytest.raises(frames.BadFrame):
        frames.decode({"is": "run", "id": id, "kind": "k", "facts": {}}, b"", Path("/file"))


def test_a_row_that_no_frame_can_carry_is_reported_and_the_others_arrive() -> None:
    circle: list[Any] = []
    circle.append(circle)
    skipped, *records = received(Records("samples", [{"id": circle}, {"id": "b"}]))
    assert isinstance(skipped, Skipped) and "cannot be kept" in skipped.why
    assert records == [Records("samples", [{"id": "b"}])]


def test_a_row_that_does_not_fit_its_columns_costs_itself(tmp_path: Path, imported: Any) -> None:
    rows = [
        {"table": "samples", "step": 1, "data": {"id": f"s{i}", "turns": turns}} for i, turns in enumerate([1, "x"])
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = imported.take(tmp_path / "rows.jsonl")
    assert "does not fit its columns" in report.skipped[0].why
    assert [sample["id"] for sample in imported.table("samples")] == ["s0"]


def test_trust_lifts_the_limits(tmp_path: Path, imported: Any) -> None:
    runs = Limits().runs + 1
    head = ",".join(f"run {i} - a" for i in range(runs))
    (tmp_path / "chart.csv").write_text(f"Step,{head}\n1,{','.join(['2'] * runs)}\n")
    assert "--trust" in imported.take(tmp_path / "chart.csv").skipped[0].why
    assert len(imported.take(tmp_path / "chart.csv", trust=True).runs) == runs


def test_following_goes_on_after_a_bomb(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    bombs.parquet_of_one_long_text(folder)
    log = folder / "log.jsonl"
    log.write_text(LINE)
    command = [sys.executable, "-m", "rollscope", "import", str(folder), "--dir", str(tmp_path / "runs")]
    with subprocess.Popen([*command, "--follow", "--every", "0.1"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert "1 value is new" in process.stdout.readline()
            assert "its rows are more than" in process.stdout.readline()
            with log.open("a") as more:
                more.write('{"step": 2, "a": 0.25}\n')
            assert "1 value is new" in process.stdout.readline()
        finally:
            process.terminate()
    from rollscope.store.store import open as open_store

    assert open_store(tmp_path / "runs").run().series("a")["value"].tolist() == [0.5, 0.25]


def test_a_database_is_read_without_a_trace_and_an_unread_log_is_reported(tmp_path: Path, imported: Any) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    for folder in (source, copy):
        folder.mkdir()
    bombs.sqlite_trigger(source)
    db = sqlite3.connect(source / "trigger.db")
    db.execute("pragma journal_mode=wal")
    db.execute("drop trigger t")
    db.execute("insert into metrics values (2, '2026-01-01', 'r', 2, '{\"a\": 0.25}')")
    db.commit()
    for name in ("trigger.db", "trigger.db-wal"):  # its index is not copied
        (copy / name).write_bytes((source / name).read_bytes())
    db.close()
    report = imported.take(copy / "trigger.db")
    assert imported.series("a") == {1: 0.5} and "trigger.db-shm is missing" in report.skipped[0].why
    assert {path.name for path in copy.iterdir()} == {"trigger.db", "trigger.db-wal"}
