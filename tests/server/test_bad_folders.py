"""One bad folder stays one bad folder: lists, pages, streams and commands answer for all others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create
from rollscope.store.seal import logs
from tests.server.bad_folders import FILES, RUN_JSON, Spoil, copies

NOBODY = 65534
ROUTES = ("", "/names", "/tape", "/overview", "/rollouts", "/samples", "/notes", "/findings")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one sealed set and one log that is closed."""
    folder = tmp_path_factory.mktemp("good")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROLLSCOPE_SEAL", "0")
        for step in range(2):
            with rs.init(project="p", name="n", id="good", dir=folder, host=False, resume="allow") as run:
                run.log({"reward/mean": 1.0, "policy/entropy": 2.0}, step=step)
                run.log_samples(
                    step=step, samples=[{"id": f"s{i}", "reward": 1.0, "completion": "c"} for i in range(8)]
                )
            if not step:
                logs.seal(str(folder / "good"))
    return folder / "good"


@pytest.fixture
def root(good: Path, tmp_path: Path) -> Path:
    """Three good runs, and `bad`, which a test spoils."""
    copies(good, tmp_path, "a", "bad", "z")
    return tmp_path


def asking(root: Path) -> TestClient:
    return TestClient(create(str(root)), base_url="http://127.0.0.1")


def check(root: Path, state: str | None) -> dict[str, Any]:
    """All ways to ask answer for the good runs; return the bad one's row. None: it is no run."""
    with asking(root) as client:
        return _check(root, client, state)


def _check(root: Path, client: TestClient, state: str | None) -> dict[str, Any]:
    listed = {record.id: record for record in rs.open(root).runs()}
    assert {record.id for record in rs.open(root).newest()} == listed.keys()
    rows = {row["id"]: row for row in client.get("/api/runs").json()["runs"]}
    for id in ("a", "z"):
        assert listed[id].state == rows[id]["state"] == "finished"
        assert rs.open(root).run(id).series("reward/mean")["value"].tolist() == [1.0, 1.0]
    for route in ROUTES:
        assert client.get(f"/api/runs/z{route}").status_code == 200, route
    for route in ROUTES:  # a sentence, or what can be read; never a bug
        reply = client.get(f"/api/runs/bad{route}")
        assert reply.status_code in (200, 404, 409, 500) and "bug in Rollscope" not in reply.text, (route, reply.text)
    if state is None:
        assert "bad" not in listed and "bad" not in rows
        return {}
    assert listed["bad"].state == rows["bad"]["state"] == state
    return dict(rows["bad"])


def says(row: dict[str, Any]) -> str:
    """The sentence of a run that cannot be read."""
    assert row["state"] == "unreadable" and "'bad'" in row["reason"]
    return str(row["reason"])


@pytest.mark.parametrize("spoil", RUN_JSON.values(), ids=RUN_JSON)
def test_an_odd_run_json_costs_its_own_facts(root: Path, spoil: Spoil) -> None:
    """The rows of the run are still there, and tell its name."""
    spoil(root / "bad" / "run.json")
    check(root, "finished")
    assert rs.open(root).run("bad").series("reward/mean")["value"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("spoil", RUN_JSON.values(), ids=RUN_JSON)
def test_a_run_of_which_nothing_can_be_read_says_so(root: Path, spoil: Spoil) -> None:
    for path in (root / "bad").iterdir():
        if path.name != "run.json":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    spoil(root / "bad" / "run.json")
    if (root / "bad" / "run.json").is_symlink() and not (root / "bad" / "run.json").exists():
        row = check(root, state_of_empty_link(root))
    else:
        row = check(root, state_of(root))
    assert not row or row["state"] == "running" or says(row)


def state_of_empty_link(root: Path) -> str | None:
    """A link in a circle may be a run that cannot be read; a link to nothing is no file."""
    return "unreadable" if os.readlink(root / "bad" / "run.json") == "run.json" else None


def state_of(root: Path) -> str:
    """Facts of the wrong type are left out, so the run began and has no row yet."""
    try:
        facts = json.loads((root / "bad" / "run.json").read_text()) if (root / "bad" / "run.json").is_file() else None
    except (ValueError, OSError, RecursionError, MemoryError, OverflowError):
        return "unreadable"
    return "running" if isinstance(facts, dict) and "attempts" in facts else "unreadable"


@pytest.mark.parametrize("spoil", FILES.values(), ids=FILES)
@pytest.mark.parametrize("pattern", ["*.log", "*.sealed/manifest*.json", "*.sealed/*.parquet", "*.sealed/*.arrow"])
def test_odd_files_cost_themselves(root: Path, pattern: str, spoil: Spoil) -> None:
    for path in sorted((root / "bad").glob(pattern)):
        spoil(path)
    with asking(root) as client:
        check_alive(root, client)


def check_alive(root: Path, client: TestClient) -> None:
    """The good runs are as they were, and the bad one has a row, whatever it says."""
    rows = {row["id"]: row for row in client.get("/api/runs").json()["runs"]}
    assert rows.keys() == {"a", "bad", "z"} and rows["a"]["state"] == rows["z"]["state"] == "finished"
    assert {record.id for record in rs.open(root).runs()} == {"a", "bad", "z"}
    for id in ("bad", "z"):
        for route in ROUTES:
            reply = client.get(f"/api/runs/{id}{route}")
            assert reply.status_code == 200 or id == "bad"
            assert "bug in Rollscope" not in reply.text, (route, reply.text)


def test_folders_that_are_no_runs_are_left_out(root: Path) -> None:
    for name in ("lost+found", ".rollscope", "notes", ".hidden"):
        (root / name).mkdir()
    (root / "loop").symlink_to("loop")
    (root / "gone").symlink_to("nowhere")
    (root / "file").write_text("x")
    os.mkfifo(root / "pipe")
    with asking(root) as client:
        rows = client.get("/api/runs").json()["runs"]
    assert {row["id"] for row in rows} == {"a", "bad", "z"} == set(rs.open(root).ids())


AS_NOBODY = """
import contextlib, io, os, sys
sys.path[:0] = {path!r}
from rollscope.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    main(sys.argv[1:])  # imports what it needs: the other user may not read this interpreter's files
os.setgroups([]); os.setgid({id}); os.setuid({id})
sys.exit(main(sys.argv[1:]))
"""


def as_nobody(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user who owns nothing here; root reads everything."""
    if os.geteuid():
        pytest.skip("only root can become another user")
    program = AS_NOBODY.format(id=NOBODY, path=[path for path in sys.path if path])
    command = [sys.executable, "-c", program, *words, "--dir", str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd="/")


@pytest.fixture
def shared(good: Path) -> Iterator[Path]:
    """A root that others can look into. pytest's own folders are private."""
    root = Path("/var/tmp") / f"rollscope-shared-{os.getpid()}-{time.monotonic_ns()}"
    root.mkdir(mode=0o755)
    root.chmod(0o755)
    copies(good, root, "a", "bad", "z")
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    yield root
    shutil.rmtree(root)


def test_a_colleagues_private_run_is_listed_as_unreadable(shared: Path) -> None:
    (shared / "lost+found").mkdir(mode=0o700)
    (shared / "bad").chmod(0o700)
    done = as_nobody(shared, "ls", "--json")
    rows = {row["id"]: row for row in json.loads(done.stdout)}
    assert rows.keys() == {"a", "bad", "z"} and rows["a"]["state"] == rows["z"]["state"] == "finished"
    assert rows["bad"]["state"] == "unreadable" and "Permission denied" in rows["bad"]["reason"]
    shown = as_nobody(shared, "show", "a", "--json")
    assert shown.returncode == 0 and json.loads(shown.stdout)["run"]["id"] == "a"
    refused = as_nobody(shared, "show", "bad")
    assert refused.returncode == 2 and "'bad' cannot be read" in refused.stderr


@pytest.mark.parametrize("pattern", ["run.json", "*.log", "*.sealed", "*.sealed/manifest*.json", "*.sealed/*.parquet"])
def test_files_without_permission_cost_themselves(shared: Path, pattern: str) -> None:
    for path in (shared / "bad").glob(pattern):
        path.chmod(0)
    done = as_nobody(shared, "ls", "--json")
    rows = {row["id"]: row["state"] for row in json.loads(done.stdout)}
    assert rows.keys() == {"a", "bad", "z"} and rows["a"] == rows["z"] == "finished"
    shown = as_nobody(shared, "show", "bad", "--json")
    assert shown.returncode == 0, shown.stderr
    assert any("Permission denied" in damage or "manifest" in damage for damage in json.loads(shown.stdout)["damage"])
    assert as_nobody(shared, "show", "z", "--json").returncode == 0


def test_the_stream_tells_of_good_runs_beside_bad_ones(root: Path) -> None:
    """A pipe in the place of `run.json` would make a careless watcher wait for ever."""
    RUN_JSON["a pipe"](root / "bad" / "run.json")
    command = [sys.executable, "-m", "rollscope", "serve", str(root), "--port", "0", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/") as process:
        try:
            assert process.stdout is not None
            _hear_of_a_new_run(json.loads(process.stdout.readline())["url"], root)
        finally:
            process.kill()


def _hear_of_a_new_run(url: str, root: Path) -> None:
    import httpx

    with httpx.Client(base_url=url, timeout=60, transport=httpx.HTTPTransport(retries=20)) as client:
        with client.stream("GET", "api/live") as stream:
            events = (json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))
            assert next(events)["kind"] == "hello"
            shutil.copytree(root / "a", root / "new")
            assert next(events) == {"kind": "runs"}
