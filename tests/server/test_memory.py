"""What a server keeps: nothing of a reader that was closed, and no holes between what is kept."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import weakref
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from fastapi.testclient import TestClient

import rollscope as rs
from rollscope.diagnose import diagnosis
from rollscope.server import library as library_module
from rollscope.server.app import application
from rollscope.server.assets import Assets
from rollscope.server.routes.metrics import series as series_route
from rollscope.server.routes.project import curves as curves_route
from rollscope.store.folder import Folder
from rollscope.store.live.tail import Tail
from rollscope.store.run import Run
from rollscope.store.seal import compact, logs
from rollscope.store.sealed.file import SealedFile
from rollscope.store.sealed.reader import SealedSet

KEPT = (Run, Folder, Tail, SealedSet, SealedFile)
STEPS = 4  # of a round


def living(folder: Path) -> Counter[str]:
    """How many objects of readers of this folder there are, by type."""
    gc.collect()
    found = [one for one in gc.get_objects() if issubclass(type(one), KEPT)]
    return Counter(type(one).__name__ for one in found if str(getattr(one, "path", "")).startswith(str(folder)))


def grow(run: rs.Run, round: int) -> None:
    """Some steps more, and the log of the round before sealed."""
    for step in range(round * STEPS, round * STEPS + STEPS):
        run.log({f"m/{i}": float(step) for i in range(20)}, step=step)
        with run.span("generate"):
            run.log_samples([{"id": f"{step}.{i}", "task": f"t{i}", "reward": 1.0} for i in range(8)], step=step)
        run.commit(step)
    assert run.flush(60)
    run._recorder._drain.files.close()  # the next block begins another log
    logs.seal(str(run.folder))


def ask(client: TestClient) -> None:
    for path in ("tape", "overview", "names", "rollouts", "evals", "timeline"):
        assert client.get(f"/api/runs/r/{path}").status_code == 200, path
    assert client.post("/api/series", json={"runs": ["r"], "names": ["m/1", "m/2"]}).status_code == 200
    assert client.get("/api/runs").status_code == 200


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[rs.Run]:
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")
    run = rs.init(id="r", dir=tmp_path, host=False, algorithm="grpo")
    yield run
    run.finish()


def test_closed_readers_leave_nothing_behind(run: rs.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = application(str(tmp_path))
    client = TestClient(app, base_url="http://127.0.0.1")
    counts = []
    for round in range(4):
        grow(run, round)
        ask(client)
        with app.state.doctor.library.reading("r") as reader:
            diagnosis(reader)
        del reader
        for job in app.state.doctor._jobs.values():  # that a page has begun
            job.result(60)
        monkeypatch.setattr(library_module, "IDLE_SECONDS", -1.0)  # the next request is the last of its reader
        for library in (app.state.library, app.state.doctor.library):
            with library.reading("r"):
                pass
        monkeypatch.undo()
        counts.append(living(tmp_path))
    app.state.doctor.close()
    assert counts[1:] == counts[:1] * 3


@pytest.mark.parametrize(
    ("route", "path", "runs"),
    [
        (series_route, "/api/series", ("runs", ["r"])),
        (curves_route, "/api/compare/charts", ("groups", [["r"]])),
    ],
    ids=["series", "curves"],
)
def test_of_a_run_that_grows_only_the_newest_answers_are_kept(
    route: ModuleType, path: str, runs: tuple[str, list[object]], run: rs.Run, tmp_path: Path
) -> None:
    client = TestClient(application(str(tmp_path)), base_url="http://127.0.0.1")
    before, kept = route.RECENT.bytes, []
    for round in range(4):
        grow(run, round)
        time.sleep(library_module.FRESH_SECONDS)  # until then a page is shown the look before
        for points in (10, 20):
            asked = {runs[0]: runs[1], "names": ["m/1", "m/2"], "points": points}
            assert client.post(path, json=asked).status_code == 200
        kept.append(route.RECENT.bytes - before)
    assert 0 < kept[-1] < 9 * kept[0]  # two answers of four times the steps; all eight would be 15 times as much


def test_a_closed_server_leaves_nothing_behind(run: rs.Run, tmp_path: Path) -> None:
    grow(run, 0)
    app = application(str(tmp_path))
    with TestClient(app, base_url="http://127.0.0.1") as client:
        ask(client)
        for path in ("/", "/api", "/api/health", "/sign-in", "/frame", "/nothing/here"):
            client.get(path)
    known = weakref.ref(app)
    del app, client
    until = time.monotonic() + 60
    while known() is not None and time.monotonic() < until:  # a thread of it may still be reading
        gc.collect()
        time.sleep(0.05)
    assert known() is None


def test_addresses_that_do_not_exist_leave_nothing_behind() -> None:
    assets = Assets()
    known = weakref.ref(assets)
    for i in range(200):
        assets.page("r/x/" + "abcdefghij"[i % 10] * (i + 20))
    assert len(assets._graphs) == 1
    del assets
    assert known() is None


def test_a_reader_forgets_sets_that_were_merged(run: rs.Run, tmp_path: Path) -> None:
    reader = rs.open(tmp_path).run("r")
    for round in range(3):
        grow(run, round)
        reader.refresh()
        reader.rollups()
        diagnosis(reader)
    compact.compact(str(run.folder), everything=True)
    reader.refresh()
    reader.rollups()
    diagnosis(reader)
    assert living(tmp_path)["SealedSet"] == len(reader.folder.sets) == 1
    assert len(reader._rollups._set_steps) == 1


def test_results_of_an_older_state_of_the_run_are_not_kept(run: rs.Run, tmp_path: Path) -> None:
    grow(run, 0)
    reader = rs.open(tmp_path).run("r")
    for i in range(20):
        reader.remember(f"series {i}", lambda: [0.0] * 100)
    grow(run, 1)
    assert reader.refresh()
    reader.remember("series 0", lambda: [0.0] * 100)
    assert {version for version, _ in reader._remembered.values()} == {reader.version}


LARGE_BUFFERS = """
import ctypes, sys
from rollscope import memory
libc = ctypes.CDLL(None)
class Info(ctypes.Structure):
    _fields_ = [(str(i), ctypes.c_size_t) for i in range(10)]
memory.prepare()
if not hasattr(libc, "mallinfo2"):  # a C library that keeps no large buffers in its heap, as musl
    print(True)
    sys.exit()
libc.mallinfo2.restype = Info
for _ in range(3):
    large = bytearray(16 << 20)
    del large  # glibc learns from this, unless it was told
before = getattr(libc.mallinfo2(), "4")
kept = bytearray(1 << 20)
print(getattr(libc.mallinfo2(), "4") - before >= 1 << 20)
"""


def test_large_buffers_never_share_pages_with_what_is_kept() -> None:
    child = subprocess.run([sys.executable, "-c", LARGE_BUFFERS], capture_output=True, text=True, timeout=60)
    assert child.stdout.strip() == "True", child.stderr


def test_a_server_does_not_load_pandas_for_arrow() -> None:
    program = (
        "import sys; from rollscope import memory; memory.prepare();"
        "import numpy as np, pyarrow as pa; table = pa.table({'a': np.arange(3)});"
        "assert np.asarray(table['a']).sum() == 3 and table.sort_by('a').num_rows == 3;"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
