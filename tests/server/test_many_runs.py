"""Thousands of runs: few are open, none is cut off, changes are noticed, answers come at once."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.server import library as library_module
from rollscope.server.changes import Changes
from rollscope.server.library import Busy, Library
from rollscope.server.listing import run_rows
from rollscope.server.listing.page import page
from rollscope.server.listing.run_rows import RunRows
from rollscope.store import notes
from rollscope.store.listing import index
from rollscope.store.seal import logs

RUNS = 12


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One finished run, sealed."""
    folder = tmp_path_factory.mktemp("recorded")
    with rs.init(project="p", name="first", id="first", dir=folder, host=False) as run:
        for step in range(5):
            run.log({"reward/mean": float(step)}, step=step)
            run.log_samples(step=step, samples=[{"id": f"{step}.{i}", "completion": "needle"} for i in range(30)])
    logs.seal(str(folder / "first"))
    return folder / "first"


@pytest.fixture
def root(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(index, "FEWEST", 1)
    monkeypatch.setattr(index, "SETTLED_NS", -(10**18))
    for i in range(RUNS):
        shutil.copytree(recorded, tmp_path / f"run-{i:02d}")
    return tmp_path


def ids() -> list[str]:
    return [f"run-{i:02d}" for i in range(RUNS)]


def open_runs(library: Library) -> list[str]:
    return [id for id in ids() if library.is_open(id)]


# ---- few readers


def test_only_the_readers_that_were_used_last_stay_open(root: Path) -> None:
    library = Library(str(root), most_open=3)
    for id in ids():
        with library.reading(id) as run:
            assert run.last_step == 4
    assert open_runs(library) == ids()[-3:]


def test_a_reader_in_use_is_never_closed(root: Path) -> None:
    library = Library(str(root), most_open=1)
    with library.reading("run-00") as used:
        for id in ids()[1:]:
            with library.reading(id):
                pass
        assert library.is_open("run-00")
        with library.reading("run-00") as again:
            assert again is used and used.series("reward/mean")["value"].tolist() == [0, 1, 2, 3, 4]


def test_a_search_goes_on_while_its_reader_is_forgotten(root: Path) -> None:
    library = Library(str(root), most_open=1)
    with library.reading("run-00") as run:
        batches = run.search_batches("needle")
        first = next(batches)
    del run
    for id in ids()[1:]:
        with library.reading(id):
            pass
    assert not library.is_open("run-00")
    assert len({hit.id for batch in (first, *batches) for hit in batch}) == 150


def test_readers_with_long_logs_and_idle_readers_are_closed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(str(root))
    for id in ids()[:3]:
        with library.reading(id):
            pass
    monkeypatch.setattr(library_module, "MOST_LIVE_BYTES", -1)
    with library.reading("run-03"):
        pass
    assert open_runs(library) == ["run-03"]
    monkeypatch.setattr(library_module, "IDLE_SECONDS", -1.0)
    with library.reading("run-04"):
        pass
    assert open_runs(library) == []


def test_a_busy_run_makes_nobody_wait_who_says_so(root: Path) -> None:
    library, busy, done = Library(str(root)), threading.Event(), threading.Event()

    def hold() -> None:
        with library.reading("run-00"):
            busy.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    busy.wait(60)
    with pytest.raises(Busy), library.reading("run-00", wait=0.01):
        raise AssertionError("it is in use")
    done.set()
    holder.join()


def test_four_hundred_files_do_not_make_a_server_deaf(root: Path) -> None:
    """Each run had three handles that were never closed; a soft limit of 64 was 20 runs."""
    for i in range(RUNS, 40):
        shutil.copytree(root / "run-00", root / f"run-{i:02d}")
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))\n"
        "from rollscope.server.library import Library\n"
        "library = Library(sys.argv[1])\n"
        "for _ in range(2):\n"
        "    for id in library.ids():\n"
        "        with library.reading(id) as run:\n"
        "            assert len(run.samples(limit=3)['id']) == 3 and run.series('reward/mean')['value'].size == 5\n"
        "print('heard')"
    )
    done = subprocess.run([sys.executable, "-c", program, str(root)], capture_output=True, text=True, timeout=180)
    assert done.stdout.strip() == "heard", done.stderr[-2000:]


def test_a_server_raises_its_soft_limit_of_files() -> None:
    program = (
        "import resource\nfrom rollscope import memory\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))\n"
        "memory.prepare()\nprint(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
        "import pyarrow\nprint(pyarrow.default_memory_pool().backend_name)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout.split() == [str(resource.getrlimit(resource.RLIMIT_NOFILE)[1]), "system"], done.stderr


# ---- rows


def answer(rows: RunRows) -> dict[str, object]:
    return dict(json.loads(page(*rows.rows(), "folder", {}, lambda id: None)))


def test_rows_come_from_the_index_without_opening_a_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = answer(RunRows(Library(str(root))))
    assert first["pending"] == 0 and len(first["runs"]) == RUNS  # type: ignore[arg-type]
    monkeypatch.setattr(RunRows, "_read", None)  # a run that is opened would fail
    assert answer(RunRows(Library(str(root)))) == first


def test_the_newest_rows_come_first_and_the_others_are_counted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_rows, "AT_LEAST", 2)
    monkeypatch.setattr(run_rows, "PATIENCE", -1.0)
    rows, told = RunRows(Library(str(root))), []
    assert answer(rows)["pending"] == RUNS - 2
    assert answer(rows)["pending"] == RUNS - 4  # an answer goes on where the last one ended
    rows.fill(lambda: told.append("runs"))
    assert answer(rows)["pending"] == 0 and told == ["runs"]
    rows.fill(lambda: told.append("runs"))
    assert told == ["runs"]  # nobody lacks a row


def test_a_row_changes_with_its_run(root: Path) -> None:
    library = Library(str(root))
    rows = RunRows(library)
    rows.rows()
    facts = json.loads((root / "run-03" / "run.json").read_text()) | {"project": "other"}
    (root / "run-03" / "run.json").write_text(json.dumps(facts))
    shutil.rmtree(root / "run-04")
    library._listed_at = library_module.NEVER
    kept = {row.facts["id"]: row.facts for row in rows.rows()[0]}
    assert "run-04" not in kept and len(kept) == RUNS - 1


def settled(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_the_row_of_a_living_run_is_read_again_when_its_files_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_rows, "STILL_SECONDS", 3600.0)
    with rs.init(id="living", dir=tmp_path, host=False) as run:
        run.log({"loss": 1.0}, step=0)
        assert run.flush(60)
        rows = RunRows(Library(str(tmp_path)))
        settled(lambda: rows.rows()[0][0] is rows.rows()[0][0])
        run.log({"loss": 0.5}, step=1)
        assert run.flush(60)
        settled(lambda: rows.rows()[0][0].whole()["step"] == 1)
    settled(lambda: rows.rows()[0][0].state == "finished")


def test_a_row_that_is_damaged_on_disk_is_read_again(root: Path) -> None:
    first = answer(RunRows(Library(str(root))))
    stored = index.Index(str(root), "rows")
    for entry in Library(str(root)).entries():
        row = stored.get(entry)
        assert row is not None
        stored.add(entry, index.Row(row.marks, row.log_marks, row.logs, {"state": "finished", "row": {"id": entry.id}}))
    stored.save()
    assert answer(RunRows(Library(str(root)))) == first


# ---- changes


@pytest.fixture
def changes(root: Path) -> Iterator[Changes]:
    library = Library(str(root))
    rows = RunRows(library)
    rows.rows()
    changes = Changes(library, rows)
    changes.begin()
    yield changes


def test_nothing_is_told_of_runs_that_do_not_change(changes: Changes) -> None:
    for _ in range(3):
        news = changes.look()
        assert not news.listed and not news.grown
    assert not changes._hot


def test_a_run_that_comes_and_one_that_goes_are_told(root: Path, changes: Changes) -> None:
    shutil.copytree(root / "run-00", root / "new")
    assert changes.look().listed and not changes.look().listed
    shutil.rmtree(root / "run-01")
    assert changes.look().listed and not changes.look().listed


def test_a_folder_that_becomes_a_run_is_told(root: Path, changes: Changes) -> None:
    """The root's time changes when the folder is made, not when its first file is."""
    (root / "late").mkdir()
    assert not changes.look().listed
    (root / "late" / "run.json").write_text("{}")
    assert changes.look().listed


def _look_until(changes: Changes, id: str) -> None:
    """Looks take turns; each finds what is new in the runs whose turn it is."""
    for _ in range(200):
        if id in changes.look().grown:
            return
    raise AssertionError(f"{id} was never told")


def test_a_note_in_a_run_that_is_over_is_told(root: Path, changes: Changes) -> None:
    notes.write(str(root / "run-05"), {"kind": "note", "text": "x"})
    _look_until(changes, "run-05")


def test_a_run_that_is_resumed_is_looked_at_each_time(root: Path, changes: Changes) -> None:
    with rs.init(id="run-06", dir=root, resume="must", host=False) as run:
        _look_until(changes, "run-06")
        run.log({"reward/mean": 9.0}, step=9)
        assert run.flush(60)
        assert "run-06" in changes.look().grown and "run-06" in changes._hot


def test_a_look_at_a_large_store_takes_turns(changes: Changes, monkeypatch: pytest.MonkeyPatch) -> None:
    from rollscope.server import changes as module

    looked: list[str] = []
    original = changes._mark
    monkeypatch.setattr(module, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(changes, "_mark", lambda id: looked.append(id) or original(id))  # type: ignore[func-returns-value]
    for look in range(1, RUNS + 2):
        changes.look()
        assert len(looked) <= look * module.AT_LEAST
    assert set(looked) == set(ids())


@pytest.mark.parametrize("handles", [8, 12, 40])
def test_a_server_that_could_not_open_its_files_says_so(tmp_path: Path, handles: int) -> None:
    command = f'ulimit -n {handles}; exec "$0" -m rollscope serve "$1" --port 0 --no-browser --json'
    child = subprocess.run(
        ["sh", "-c", command, sys.executable, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert child.returncode == 2 and f"may open {handles} files" in child.stderr and not child.stdout
