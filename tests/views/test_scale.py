"""Asked by a dialect's name, a number has that dialect's unit through every door."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.catalog.names.dialect import Dialect
from rollscope.catalog.names.held import full_name
from rollscope.catalog.names.index import indexes
from rollscope.catalog.names.match import Match
from rollscope.catalog.names.pattern import HOLE, spellings
from rollscope.catalog.names.units import SCALED
from rollscope.catalog.spec import METRICS
from rollscope.cli import main
from rollscope.server.app import create
from rollscope.server.packed import unpack

Scaled = list[tuple[str, str, str, float]]  # dialect, their name, ours, scale


def scaled() -> Scaled:
    """Every spelling of every name that is ours up to a scale, with its holes filled."""
    found = []
    for entry in METRICS.values():
        for name in entry.names:
            for spelling in spellings(name.key) if name.same and name.scale != 1 and not name.override else ():
                trainer = name.trainer.split(",")[0]
                dialect = f"{name.framework}{':' + trainer if trainer else ''}"
                dialect += f"@{name.versions.lstrip('<>=')}" if name.versions.startswith((">=", "=")) else ""
                dialect += "@1.0" if name.versions.startswith("<") else ""
                asked = HOLE.sub("1", spelling.text)
                (match,) = (m for m in indexes()[1].find(asked, Dialect.parse(dialect).speaks) if m.via == name)
                found.append((dialect, asked, full_name(match, _scope(match)), name.scale))
    return found


def _scope(match: Match) -> str:
    return match.scope or (match.via.scope if match.via and match.entry.scoped else "")


SCALES = scaled()
IDS = [f"{dialect}-{asked}" for dialect, asked, *_ in SCALES]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that holds every quantity with a scale under our name, each with its own values."""
    path = tmp_path_factory.mktemp("ours")
    with rs.init(id="r", dir=path, host=False) as run:
        for step in (1, 2):
            run.log({name: float(i + step) for i, name in enumerate(sorted({row[2] for row in SCALES}))}, step=step)
    return path


@pytest.mark.parametrize(("dialect", "asked", "name", "scale"), SCALES, ids=IDS)
def test_a_series_is_in_the_unit_of_its_name(ours: Path, dialect: str, asked: str, name: str, scale: float) -> None:
    run = rs.open(ours).run("r")
    mine, theirs = run.series(name), run.series(asked, dialect=dialect)
    assert theirs["value"].tolist() == (mine["value"] * scale).tolist()
    assert theirs["max"].tolist() == (mine["max"] * scale).tolist()
    assert theirs.unit == SCALED[mine.unit, scale] and theirs.found.stored == name
    assert run.series(asked, dialect=dialect, points=1)["mean"] == run.series(name, points=1)["mean"] * scale


def test_every_scale_has_a_unit_of_its_own() -> None:
    units = {(entry.unit, name.scale) for entry in METRICS.values() for name in entry.names if name.scale != 1}
    assert units <= SCALED.keys()


WITHOUT_DIALECT = [row for row in SCALES if "@" not in row[0] and ":" not in row[0]]


def test_every_door_gives_the_dialects_unit(ours: Path, capsys: Any) -> None:
    """Buckets, `show`, SQL, the API's series, point and CSV: all names at once through each."""
    run = rs.open(ours).run("r")
    asked = sorted({row[1] for row in WITHOUT_DIALECT})
    expected = {row[1]: (float(run.series(row[2])["value"][-1]) * row[3]) for row in WITHOUT_DIALECT}
    units = {name: run.find(name).unit for name in asked}
    last = dict(zip(asked, run.buckets(asked, 0, 3, 1)["last"][:, 0].tolist(), strict=True))
    assert last == expected
    assert main(["show", "r", "--dir", str(ours), "--json", *(f"--metric={name}" for name in asked)]) == 0
    shown = json.loads(capsys.readouterr().out)["metrics"]
    assert {row["name"]: (row["last"], row["unit"]) for row in shown} == {n: (expected[n], units[n]) for n in asked}
    queries = {name: f"select value, unit from metric('{name}') where step = 2" for name in asked}
    answers = {name: run.sql(query) for name, query in queries.items()}
    assert {n: (a["value"][0], a["unit"][0]) for n, a in answers.items()} == {n: (expected[n], units[n]) for n in asked}
    with TestClient(create(str(ours)), base_url="http://127.0.0.1") as client:
        head, columns = unpack(client.post("/api/series", json={"runs": ["r"], "names": asked}).content)
        rows = columns["last"].reshape(-1, head["n"])[:, -1].tolist()
        assert {one["name"]: row for one, row in zip(head["series"], rows, strict=True)} == expected
        assert {one["name"]: one["unit"] for one in head["series"]} == units
        for name in asked:
            point = client.get("/api/runs/r/point", params={"name": name, "step": 2}).json()
            assert (point["value"], point["unit"]) == (expected[name], units[name])
            text = client.get("/api/runs/r/csv", params={"name": name}).text
            assert float(text.splitlines()[-1].split(",")[3]) == expected[name]


@pytest.mark.parametrize("framework", sorted({row[0] for row in SCALES}))
def test_a_framework_is_kept_as_it_logged_and_converted_for_others(tmp_path: Path, framework: str) -> None:
    rows = [row for row in SCALES if row[0] == framework]
    with rs.init(id="r", dir=tmp_path, framework=framework, host=False) as run:
        run.log({asked: float(i + 1) for i, (_, asked, _, _) in enumerate(rows)}, step=1)
    reader = rs.open(tmp_path).run("r")
    for i, (_, asked, name, scale) in enumerate(rows):
        assert reader.series(asked)["value"].tolist() == [i + 1]
        assert reader.series(asked).unit == SCALED[reader.series(name).unit, scale]
        assert reader.series(name)["value"].tolist() == [pytest.approx((i + 1) / scale)]


EXPORTED = sorted({row[0] for row in WITHOUT_DIALECT})


@pytest.mark.parametrize("dialect", EXPORTED)
def test_an_export_in_a_dialect_has_its_scale(ours: Path, tmp_path: Path, dialect: str) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = rs.open(ours).run("r")
    words = ["--format", "tensorboard", "--out", str(tmp_path), "--dialect", dialect]
    assert main(["export", "r", "--dir", str(ours), *words]) == 0
    events = accumulator.EventAccumulator(str(tmp_path)).Reload()
    for _, asked, name, scale in (row for row in WITHOUT_DIALECT if row[0] == dialect):
        assert [e.value for e in events.Scalars(asked)] == pytest.approx((run.series(name)["value"] * scale).tolist())


def test_a_sink_in_a_dialect_has_its_scale(tmp_path: Path) -> None:
    rows = {row[1]: row for row in WITHOUT_DIALECT if row[0] == "verl"}
    with rs.init(id="r", dir=tmp_path, sinks=["jsonl"], dialect="verl", host=False) as run:
        run.log({row[2]: float(i + 1) for i, row in enumerate(rows.values())}, step=1)
        run.commit(1)
    lines = [json.loads(line) for file in tmp_path.rglob("*.jsonl") for line in file.read_text().splitlines()]
    written = {name: value for line in lines for name, value in line.get("data", line).items() if name in rows}
    assert written == {name: (i + 1) * row[3] for i, (name, row) in enumerate(rows.items())}
