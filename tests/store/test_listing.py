"""A list of runs by the index is the list that reading every run gives, whatever happened since."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.store import notes, store
from rollscope.store.listing import entries as entries_module
from rollscope.store.listing import index, readers
from rollscope.store.listing import records as records_module
from rollscope.store.listing.entries import entries
from rollscope.store.listing.index import Index, Row
from rollscope.store.log import block, frame, process
from rollscope.store.log.files import file_name
from rollscope.store.seal import logs
from tests.store.conftest import T0, Writer

RUNS = 12
LONG_AGO = time.time() - 3600


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few runs are indexed like many."""
    monkeypatch.setattr(index, "FEWEST", 1)
    monkeypatch.setattr(index, "SETTLED_NS", -(10**18))  # and at once


def make(root: Path, i: int) -> Path:
    """A run that began `i` hours after the first: sealed, a closed log, or killed."""
    run = root / f"run-{i:02d}"
    run.mkdir()
    facts = {"id": run.name, "name": f"name {i}", "project": f"p{i % 3}", "started_ns": T0, "config": {"i": i}}
    (run / "run.json").write_text(json.dumps(facts))
    writer = Writer(run, f"{i + 1:016x}")
    for step in range(3):
        writer.metrics(step, {"reward/mean": float(i)}, T0 + (i * 3600 + step) * 10**9)
    if i % 4:
        state = "crashed" if i % 4 == 1 else "finished"
        writer.rows("runs", [{"state": state, "tags": json.dumps(["t"])}])
        writer.finish()
    else:
        writer.log.close()  # killed: nothing says that it ended
    if i % 4 == 2:
        logs.seal(str(run))
    age(run)
    return run


def age(run: Path) -> None:
    """As if nothing in the folder had changed for an hour."""
    for path in (*run.iterdir(), run):
        os.utime(path, (LONG_AGO, LONG_AGO))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for i in range(RUNS):
        make(tmp_path, i)
    return tmp_path


def listed(root: Path) -> list[Any]:
    """The list of a process that starts now."""
    return [dict(record) for record in store.open(root).runs()]


def read(root: Path) -> list[Any]:
    """The same list with every run read from its files."""
    return [dict(store.open(root).run(record["id"]).record()) for record in listed(root)]


def indexed(root: Path) -> set[str]:
    """Runs whose rows are in the index and current."""
    rows = Index(str(root), "listed")
    return {entry.id for entry in entries(str(root)) if rows.get(entry) is not None}


def test_a_slow_disk_is_looked_at_by_several_at_a_time(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = entries(str(root))
    monkeypatch.setattr(entries_module, "SLOW_SECONDS", -1.0)
    monkeypatch.setattr(entries_module, "FEW", 2)
    assert entries(str(root)) == quick and len(quick) == RUNS


def test_rows_of_runs_that_are_over_are_indexed_and_say_the_same(root: Path) -> None:
    first = listed(root)
    assert indexed(root) == {f"run-{i:02d}" for i in range(RUNS)}
    assert first == listed(root) == read(root)
    assert [record["id"] for record in first] == [f"run-{i:02d}" for i in reversed(range(RUNS))]
    assert {record["state"] for record in first} == {"crashed", "finished", "killed"}
    assert first[0]["config"] == {"i": RUNS - 1} and first[0]["tags"] == ["t"]


def _note(run: Path) -> None:
    notes.write(str(run), {"kind": "note", "text": "x"})


def _grow(run: Path) -> None:
    """A writer that was taken for dead writes on: no entry of the folder comes or goes."""
    for path in run.glob("*.log"):
        salt = frame.salt_of(path.read_bytes())
        assert salt is not None
        rows = block.table("runs", [{"state": "crashed", "name": "grown"}], {"writer": "e" * 16, "attempt": 9})
        with open(path, "ab") as file:
            file.write(frame.header(salt, 1_000_000, rows) + rows)


def _resume(run: Path) -> None:
    writer = Writer(run, f"{random.getrandbits(60):016x}", attempt=2)
    writer.metrics(7, {"reward/mean": 9.0}, T0 + 10**15)
    writer.rows("runs", [{"state": "crashed", "reason": "again", "name": "resumed"}])
    writer.finish()


def _edit(run: Path) -> None:
    """By hand, in place: only the time and the size of `run.json` tell."""
    before = run.stat()
    facts = json.loads((run / "run.json").read_text()) | {"name": "edited by hand"}
    (run / "run.json").write_text(json.dumps(facts))
    os.utime(run, (before.st_atime, before.st_mtime))


def _seal(run: Path) -> None:
    logs.seal(str(run))


def _replace(run: Path) -> None:
    other = run.parent / "run-01"
    if other != run:
        shutil.rmtree(run)
        shutil.copytree(other, run)


CHANGES = [_note, _grow, _resume, _edit, _seal, _replace]


@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__[1:] for change in CHANGES])
@pytest.mark.parametrize("i", range(4))
def test_no_change_of_a_folder_is_missed(root: Path, change: Callable[[Path], None], i: int) -> None:
    listed(root)
    change(root / f"run-{i:02d}")
    assert listed(root) == listed(root) == read(root)
    age(root / f"run-{i:02d}")
    assert listed(root) == listed(root) == read(root)


@pytest.mark.parametrize("project", [None, "p1", "none"])
def test_the_newest_are_the_first_of_all(root: Path, project: str | None) -> None:
    """However many are asked for, with and without an index, whichever part of it there is."""
    everything = [record for record in listed(root) if project in (None, record["project"])]
    small = [{name: value for name, value in record.items() if name not in ("config", "environment", "declared")}
             for record in everything]  # fmt: skip
    for most in (0, 1, 2, 5, RUNS, RUNS + 1, None):
        shutil.rmtree(root / index.HOME, ignore_errors=True)
        cold = store.open(root).newest(most, project)
        assert cold == small[:most] == store.open(root).newest(most, project)


def test_the_newest_are_found_without_opening_the_others(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(RUNS):
        run = root / f"run-{i:02d}"
        times = (T0 / 1e9 + i * 3600, T0 / 1e9 + i * 3600)
        for path in (*run.iterdir(), run):
            os.utime(path, times)
    opened: list[str] = []
    reader = store.open(root)
    original = reader._reader_of
    monkeypatch.setattr(reader, "_reader_of", lambda path: opened.append(path) or original(path))
    assert [record.id for record in reader.newest(2)] == ["run-11", "run-10"]
    assert len(opened) <= 3


def test_a_log_that_is_sealed_while_it_is_listed_costs_no_row(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sealer of a run that just ended takes its log away between two looks."""
    marks = records_module.log_marks

    def sealed_first(path: str, names: list[str]) -> Any:
        logs.seal(path)
        return marks(path, names)

    monkeypatch.setattr(records_module, "log_marks", sealed_first)
    assert {row["state"] for row in rs.open(root).runs()} == {"finished", "crashed", "killed"}


def test_a_damaged_index_is_made_again(root: Path) -> None:
    first = listed(root)
    rng = random.Random(0)
    for kind in ("listed", "details"):
        path = root / index.HOME / f"{kind}.jsonl"
        whole = path.read_bytes()
        for _ in range(20):
            spoilt = bytearray(whole)
            for _ in range(3):
                spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
            path.write_bytes(spoilt[: rng.randrange(len(spoilt))] if rng.random() < 0.5 else spoilt)
            assert listed(root) == first
        assert listed(root) == first and indexed(root) == {record["id"] for record in first}


def test_an_index_with_other_rows_is_not_believed(root: Path) -> None:
    """Whoever may write to the root may write anything that has the form of a row."""
    first = listed(root)
    rows = Index(str(root), "listed")
    for entry in entries(str(root)):
        row = rows.get(entry)
        assert row is not None
        for value in ({"state": "finished"}, {**row.value, "started_ns": "x"}, {**row.value, "id": "other"}):
            rows.add(entry, Row(row.marks, row.log_marks, row.logs, value))
    rows.save()
    assert listed(root) == first


def test_the_file_of_the_index_does_not_grow_for_ever(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "SLACK", 10)
    path = root / index.HOME / "listed.jsonl"
    for i in range(60):
        _edit(root / f"run-{i % 3 + 1:02d}")
        listed(root)
    assert len(path.read_bytes().split(b"\n")) <= 2 * RUNS + 3 * 10
    assert indexed(root) == {f"run-{i:02d}" for i in range(RUNS)}


def test_a_run_that_others_cannot_read_is_not_in_the_index(root: Path) -> None:
    root.chmod(0o755)
    (root / "run-03").chmod(0o700)
    (root / "run-04" / "run.json").chmod(0o600)
    age(root / "run-04")
    assert {record["id"] for record in listed(root)} >= {"run-03", "run-04"}
    assert indexed(root) == {f"run-{i:02d}" for i in range(RUNS)} - {"run-03", "run-04"}
    text = b"".join(path.read_bytes() for path in (root / index.HOME).iterdir())
    assert b"name 3" not in text and b"name 4" not in text
    root.chmod(0o700)  # now nobody else can look into the root
    listed(root)
    assert indexed(root) == {f"run-{i:02d}" for i in range(RUNS)}


def test_a_killed_run_whose_writer_is_seen_alive_is_not_taken_from_the_index(root: Path) -> None:
    """Another host cannot see the process, and indexes the silent run as killed."""
    listed(root)
    rows = Index(str(root), "listed")
    entry = next(entry for entry in entries(str(root)) if entry.id == "run-00")
    row = rows.get(entry)
    assert row is not None and row.value["state"] == "killed" and list(row.logs) == [file_name(f"{1:016x}", 0)]
    alive = Row(row.marks, row.log_marks, {name: process.here() for name in row.logs}, row.value)
    assert not index.is_current(alive, entry) and index.is_current(row, entry)


def test_a_run_that_changed_just_now_is_not_indexed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder may change again within the same tick of the disk's clock."""
    monkeypatch.setattr(index, "SETTLED_NS", 3600 * 10**9)
    listed(root)
    assert not indexed(root)


LIST = """
import sys
import rollscope as rs
from rollscope.store.listing import index
index.FEWEST, index.SETTLED_NS = 1, -(10**18)
print(len(rs.open(sys.argv[1]).runs()))
"""
NO_ROOM = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""


def test_many_processes_list_at_once(root: Path) -> None:
    command = [sys.executable, "-c", LIST, str(root)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=120)[0].strip() for process in running] == [str(RUNS)] * 3
    assert indexed(root) == {f"run-{i:02d}" for i in range(RUNS)} and listed(root) == read(root)


def test_a_full_disk_costs_only_the_index(root: Path) -> None:
    command = [sys.executable, "-c", NO_ROOM + LIST, str(root)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=120)
    assert done.stdout.strip() == str(RUNS)
    assert not indexed(root) and listed(root) == read(root)


@pytest.mark.parametrize("odd", ["a link", "a file", "a pipe"])
def test_an_odd_thing_in_the_place_of_the_index_costs_only_the_index(root: Path, odd: str) -> None:
    home = root / index.HOME
    elsewhere = root.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    if odd == "a link":
        home.symlink_to(elsewhere)
    elif odd == "a file":
        home.write_text("x")
    else:
        home.mkdir()
        os.mkfifo(home / "listed.jsonl")
    assert listed(root) == read(root) and not any(elsewhere.iterdir())


def test_a_few_runs_need_no_index(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "FEWEST", 50)
    listed(root)
    assert not (root / index.HOME).exists()


def test_a_store_keeps_few_readers_and_those_someone_holds(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "MOST", 2)
    runs = rs.open(root)
    runs._readers.most = 2
    held = runs.run("run-00")
    for run in runs:
        assert run.series("reward/mean")["value"].size == 3
    assert len(runs._readers._recent) == 2 and runs.run("run-00") is held


def test_a_thousand_sealed_files_hold_few_handles(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many runs are open, Parquet files are opened for the runs that were read last."""
    from rollscope.store.sealed import handles

    handles.forget()
    before = len(os.listdir("/proc/self/fd"))
    opened = []
    for i in range(40):
        shutil.copytree(root / "run-02", root / f"more-{i}")
        opened.append(rs.open(root).run(f"more-{i}"))
        for table in ("metrics", "runs"):
            assert len(next(iter(opened[-1].table(table).values())))
    assert len(os.listdir("/proc/self/fd")) - before <= handles.MOST + 2
    assert [run.series("reward/mean")["value"].tolist() for run in opened] == [[2.0] * 3] * 40
