"""What people do first works with the oldest versions that we declare, and with the newest.

Needs `.venvs/floors` and `.venvs/newest`, which `run.py` creates.
"""

from __future__ import annotations

import ast
import csv
import importlib.util
import io
import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GOLDEN = ROOT / "tests" / "golden"
ENVIRONMENTS = {  # name -> the environment, and a folder of packages that come first
    "floors": ("floors", None),
    "newest": ("newest", None),
    "newest with DuckDB 1": ("newest", "duckdb1"),
}
pytestmark = pytest.mark.skipif("ROLLSCOPE_FLOORS" not in os.environ, reason="run by: make test-floors")


class World:
    """One environment, and a folder with two runs that were recorded in it."""

    def __init__(self, environment: str, first: str | None, runs: Path) -> None:
        self.python = str(ROOT / ".venvs" / environment / "bin" / "python")
        self.runs = runs
        clean = {key: text for key, text in os.environ.items() if not key.startswith(("PYTHON", "ROLLSCOPE"))}
        self.env = {**clean, **({"PYTHONPATH": str(ROOT / ".venvs" / first)} if first else {})}

    def __call__(self, *words: str, code: int = 0) -> str:
        done = subprocess.run([self.python, *words], capture_output=True, text=True, env=self.env, timeout=500)
        assert done.returncode == code, f"{' '.join(words)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
        assert "Warning" not in done.stderr, done.stderr
        return done.stdout

    def rollscope(self, *words: str, code: int = 0) -> str:
        return self("-m", "rollscope", *words, "--dir", str(self.runs), code=code)


@pytest.fixture(scope="module", params=ENVIRONMENTS.values(), ids=[*ENVIRONMENTS])
def world(request: Any, tmp_path_factory: pytest.TempPathFactory) -> World:
    runs = tmp_path_factory.mktemp("runs")
    world = World(*request.param, runs)
    world.env["ROLLSCOPE_SEAL"] = "0"
    world(str(HERE / "small_run.py"), str(runs))
    return world


def test_the_versions_are_those_we_speak_of(world: World) -> None:
    spec = importlib.util.spec_from_file_location("floors_run", HERE / "run.py")
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(recipes := importlib.util.module_from_spec(spec))
    declared = dict(requirement.partition(",")[0].split(">=") for requirement in recipes.DECLARED)  # without exclusions
    ask = f"from importlib.metadata import version; print({{n: version(n) for n in {[*declared]}}})"
    versions = ast.literal_eval(world("-c", ask))
    if "floors" in world.python:
        assert all(_parts(versions[name]) == _parts(floor) for name, floor in declared.items())
    assert all(_parts(versions[name]) >= _parts(floor) for name, floor in declared.items())
    loaded = world("-c", "import duckdb; print(duckdb.__version__)").strip()
    assert "PYTHONPATH" not in world.env or loaded == "1.5.5"


def _parts(version: str) -> list[int]:
    """The version's numbers, without zeros at the end: 15 is 15.0.0."""
    parts = [int(number) for number in re.findall(r"\d+", version)]
    while parts and not parts[-1]:
        parts.pop()
    return parts


def test_a_recorded_run_is_listed_and_shown(world: World) -> None:
    assert {run["id"]: run["state"] for run in json.loads(world.rollscope("ls", "--json"))} == {
        "one": "finished",
        "two": "finished",
    }
    assert [*(world.runs / "two").glob("*.log")] and not [*(world.runs / "one").glob("*.log")], "one is sealed"
    for id, last in (("one", 1.71), ("two", 1.13)):
        metrics = {m["name"]: m for m in json.loads(world.rollscope("show", id, "--json", "--verify"))["metrics"]}
        assert metrics["policy/entropy"]["last"] == pytest.approx(last)
        assert "policy/entropy" in world.rollscope("show", id)


def test_every_reading_command_answers(world: World) -> None:
    assert json.loads(world.rollscope("watch", "one", "--json"))["step"] == 29
    assert json.loads(world.rollscope("samples", "one", "--limit", "1", "--json"))["prompt"] == "What is 2+2?"
    assert "reward" in world.rollscope("samples", "one", "--where", "reward = 1", "--order-by", "step desc")
    assert json.loads(world.rollscope("why", "one", "reward/mean", "5", "--json"))["now"] == 0.5
    assert json.loads(world.rollscope("compare", "one", "two", "--json"))["settings"] == {"config.lr": [0.01, 0.03]}
    assert json.loads(world.rollscope("doctor", "one", "--json", code=1))
    assert "policy/kl_ref_k3" in world.rollscope("explain", "policy/kl_ref_k3")


QUERY = """
select (select count(*) from samples) as samples,
       (select avg(reward) from samples) as reward,
       (select max(step) from metrics where name = 'policy/entropy') as step,
       (select sum(step) from metrics where name = 'custom/none')::bigint as steps,
       (select list(n order by n) from (select count(*) as n from spans group by run)) as spans,
       (select count(*) from turns where tool = 'calc') as calls,
       {'a': 1} as struct, null as missing
"""


def test_sql_answers(world: World) -> None:
    (row,) = json.loads(world.rollscope("sql", QUERY, "--json"))
    counted = {"samples": 480, "reward": 0.5, "step": 29, "steps": 870, "spans": [30, 30], "calls": 480}
    assert row == {**counted, "struct": {"a": 1}, "missing": None}


def test_sql_reads_no_file_and_changes_nothing(world: World) -> None:
    world.rollscope("sql", "select * from read_csv('/etc/passwd')", code=2)
    world.rollscope("sql", "select * from '/etc/passwd'", code=2)
    world.rollscope("sql", "drop table samples", code=2)
    rows = list(csv.reader(io.StringIO(world.rollscope("sql", "select run, step from steps limit 1", "--csv"))))
    assert rows == [["run", "step"], ["one", "0"]]


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl", "chrome"])
def test_a_run_is_exported(world: World, tmp_path: Path, format: str) -> None:
    words = ("export", "one", "--format", format, "--out", str(tmp_path / "out"), "--json")
    files = json.loads(world.rollscope(*words))
    assert {Path(file["file"]).stem: file["rows"] for file in files}.get("samples", 240) == 240


def test_logs_and_sets_are_merged_without_a_change(world: World) -> None:
    question = ("sql", "select run, name, step, value from metrics order by all", "--csv")
    before = world.rollscope(*question)
    assert {row["run"] for row in json.loads(world.rollscope("compact", "--all", "--json"))} == {"one", "two"}
    assert world.rollscope(*question) == before


SOURCES = {  # file or folder -> values, or rows, that are new at least
    "trl/grpo": 100,
    "trl/dpo/tensorboard": 100,
    "trackio/trl-run.db": 50,
    "trinity/explorer_output.db": 1,
}


@pytest.mark.parametrize("source", SOURCES)
def test_files_of_others_are_imported(world: World, tmp_path: Path, source: str) -> None:
    report = json.loads(world("-m", "rollscope", "import", str(GOLDEN / source), "--dir", str(tmp_path), "--json"))
    assert sum(new["values"] + new["rows"] for new in report["runs"]) >= SOURCES[source]


def test_tables_are_imported_from_csv_and_parquet(world: World, tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text("step,loss\n0,1.5\n1,1.25\n")
    (tmp_path / "log.jsonl").write_text('{"step": 0, "loss": 2.0}\n{"step": 1, "loss": 1.0}\n')
    for file in ("run.csv", "log.jsonl"):
        world("-m", "rollscope", "import", str(tmp_path / file), "--dir", str(tmp_path / "runs"))
    asked = ("sql", "select sum(value) as s from metrics", "--json", "--dir", str(tmp_path / "runs"))
    assert json.loads(world("-m", "rollscope", *asked)) == [{"s": 5.75}]


@pytest.fixture(scope="module")
def url(world: World) -> Iterator[str]:
    command = [world.python, "-m", "rollscope", "serve", str(world.runs), "--port", "0", "--no-browser", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=world.env) as server:
        assert server.stdout is not None
        try:
            yield listening(json.loads(server.stdout.readline())["url"].rstrip("/"), server)
        finally:
            server.terminate()
            server.wait(60)


def listening(url: str, server: subprocess.Popen[str]) -> str:
    """The address, once the server answers there: it says its address before it listens."""
    while server.poll() is None:
        try:
            fetch(f"{url}/api/health")
            return url
        except urllib.error.URLError:
            continue
    raise AssertionError(f"the server ended with {server.returncode}")


def fetch(url: str, body: Any = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", "x-rollscope": "1"}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as reply:
        return bytes(reply.read())


PAGES = {  # path -> a word of the answer
    "/": "<html",
    "/api": "<html",
    "/api/health": '"version"',
    "/api/openapi.json": "RunList",
    "/api/runs": '"one"',
    "/api/runs/one": '"config"',
    "/api/runs/one/names": "policy/entropy",
    "/api/runs/one/overview": "verdict",
    "/api/runs/one/findings": "[",
    "/api/runs/one/samples?limit=2": "What is 2+2?",
    "/api/runs/one/csv?name=policy/entropy": "policy/entropy,29",
    "/api/runs/one/export?where=reward%3D1&limit=3": "What is 2+2?",
    "/api/tables": "samples",
}


@pytest.mark.parametrize("path", PAGES)
def test_the_server_answers(url: str, path: str) -> None:
    assert PAGES[path] in fetch(url + path).decode()


def test_the_server_answers_questions_with_a_body(url: str) -> None:
    answer = json.loads(fetch(f"{url}/api/runs/one/sql", {"query": "select count(*) as n from samples"}))
    assert answer["rows"] == [[240]]
    series = fetch(f"{url}/api/series", {"runs": ["one"], "names": ["policy/entropy"], "points": 10})
    assert b"policy/entropy" in series
    parquet = fetch(f"{url}/api/runs/one/export", {"ids": ["0-0"], "format": "parquet"})
    assert parquet.startswith(b"PAR1")
