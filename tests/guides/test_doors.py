"""Every name of the guides through every door: one series, unit and warning, or one sentence.

The doors are Python, `rollscope show`, the API (a name, many series, CSV), SQL, and the glossary.
The page's search and palette ask the API; `tests/web/test_names.py` types into them.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import RollscopeError
from rollscope.server.app import create
from rollscope.server.packed import unpack

from .conftest import CASES, Recorded
from .names import NAMES, PATTERNS

ASKED = list(dict.fromkeys(one.name for one in NAMES))
WITHOUT_VALUE: dict[str, str] = {}  # names of the guides that no run here has a number for, and why
EVALUATIONS = re.compile("^(bench|val-core|val-aux)/")  # computed as eval/ is
RUNS = pytest.mark.parametrize("run", CASES)


class Answer(NamedTuple):
    """What a door says about a name."""

    stored: str
    unit: str
    warning: str
    last: float  # the last value


@pytest.fixture(scope="session")
def client(recorded: Recorded) -> Iterator[TestClient]:
    with TestClient(create(str(recorded.folder)), base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture(scope="session")
def expected(recorded: Recorded) -> dict[str, dict[str, Answer]]:
    """Run -> name -> what `run.series` answers, for the names that the run holds."""
    return {name: _answers(run) for name, run in recorded.runs.items()}


def _answers(run: Any) -> dict[str, Answer]:
    found: dict[str, Answer] = {}
    for name in ASKED:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                series = run.series(name)
            except RollscopeError:
                continue
        text = " ".join(str(one.message) for one in said)
        found[name] = Answer(run.find(name).stored, series.unit, text, _last(series["value"]))
    return found


def _last(values: Any) -> float:
    """The last finite value, to single precision; NaN without one."""
    finite = [value for value in np.asarray(values, float).tolist() if math.isfinite(value)]
    return float(np.float32(finite[-1])) if finite else math.nan


def same(told: dict[str, Answer], expected: dict[str, Answer]) -> None:
    assert {name: told.get(name) for name in expected if not _agree(told.get(name), expected[name])} == {}
    assert told.keys() <= expected.keys()


def _agree(one: Answer | None, other: Answer) -> bool:
    return one is not None and one[:3] == other[:3] and one.last == pytest.approx(other.last, nan_ok=True)


def test_every_name_has_a_value_in_some_run(expected: dict[str, dict[str, Answer]]) -> None:
    known = {name for answers in expected.values() for name, one in answers.items() if math.isfinite(one.last)}
    assert set(ASKED) - known == WITHOUT_VALUE.keys()


@RUNS
def test_show(recorded: Recorded, expected: dict[str, dict[str, Answer]], run: str, capsys: Any) -> None:
    wanted = [word for name in expected[run] for word in ("--metric", name)]
    assert main(["show", recorded.ids[run], "--dir", str(recorded.folder), "--json", *wanted]) == 0
    rows = json.loads(capsys.readouterr().out)["metrics"]
    last = {name: one.last for name, one in expected[run].items()}  # show prints the last value, be it none
    same({r["name"]: Answer(r["stored"], r["unit"], r["warning"], last[r["name"]]) for r in rows}, expected[run])
    numbers = {r["name"]: r["last"] for r in rows if isinstance(r["last"], float)}
    assert numbers == pytest.approx({name: last[name] for name in numbers}, rel=1e-6)


@RUNS
def test_the_api_finds(client: TestClient, recorded: Recorded, expected: Any, run: str) -> None:
    """Also what the search of the Metrics page and the palette are told."""
    wrong = {}
    for name in ASKED:
        reply = client.get(f"/api/runs/{recorded.ids[run]}/find", params={"name": name}).json()
        one = expected[run].get(name)
        found = [(each["stored"], each["unit"], each["warning"]) for each in reply["found"]]
        if found != ([one[:3]] if one else found if len(found) > 1 else []) or bool(reply["says"]) != (one is None):
            wrong[name] = reply
    assert wrong == {}


@RUNS
def test_the_api_draws(client: TestClient, recorded: Recorded, expected: Any, run: str) -> None:
    ask = {"runs": [recorded.ids[run]], "names": [*expected[run]], "points": 4000}
    reply = client.post("/api/series", json=ask)
    assert reply.status_code == 200, reply.text
    head, columns = unpack(reply.content)
    values = columns["last"].reshape(-1, head["n"])
    same(
        {
            one["name"]: Answer(one["stored"], one["unit"], one["warning"], _last(values[i]))
            for i, one in enumerate(head["series"])
        },
        expected[run],
    )


@RUNS
def test_the_csv_of_the_page(client: TestClient, recorded: Recorded, expected: Any, run: str) -> None:
    reply = client.post("/api/csv", json={"runs": [recorded.ids[run]], "names": [*expected[run]]})
    values: dict[str, list[float]] = {}
    for row in csv.DictReader(io.StringIO(reply.text)):
        values.setdefault(row["name"], []).append(math.nan if row["value"] == "no data" else float(row["value"]))
    answers = expected[run]
    same({name: Answer(*answers[name][:3], _last(some)) for name, some in values.items()}, answers)


@RUNS
def test_sql(recorded: Recorded, expected: Any, run: str) -> None:
    asked = " UNION ALL ".join(f"SELECT '{name}' AS asked, * FROM metric('{name}')" for name in expected[run])
    rows = recorded.runs[run].sql(f"SELECT * FROM ({asked}) ORDER BY asked, step")
    told: dict[str, Answer] = {}
    for name in expected[run]:
        mine = rows["asked"] == name
        said = {
            tuple(map(str, one)) for one in zip(*(rows[key][mine] for key in ("name", "unit", "warning")), strict=True)
        }
        (one,) = said
        told[name] = Answer(*one, _last(rows["value"][mine]))
    same(told, expected[run])


@RUNS
def test_what_a_run_does_not_hold_has_one_sentence(
    client: TestClient, recorded: Recorded, expected: Any, run: str, capsys: Any
) -> None:
    reader, folder = recorded.runs[run], str(recorded.folder)
    for name in [name for name in ASKED if name not in expected[run]][:6]:
        with pytest.raises(RollscopeError) as error:
            reader.series(name)
        says = str(error.value)
        assert client.get(f"/api/runs/{reader.id}/find", params={"name": name}).json()["says"] == says
        with pytest.raises(RollscopeError) as error:
            reader.sql(f"SELECT * FROM metric('{name}')")
        assert str(error.value) == says
        if not reader.find_all(name):
            assert main(["show", reader.id, "--dir", folder, "--metric", name]) == 2
            assert says in capsys.readouterr().err


@RUNS
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_of_the_guides(client: TestClient, recorded: Recorded, run: str, pattern: str, capsys: Any) -> None:
    found = [one.asked for one in recorded.runs[run].find_all(pattern)]
    reply = client.get(f"/api/runs/{recorded.ids[run]}/find", params={"name": pattern}).json()
    assert [one["asked"] for one in reply["found"]] == found
    if found:
        main(["show", recorded.ids[run], "--dir", str(recorded.folder), "--metric", pattern, "--json"])
        assert {row["name"] for row in json.loads(capsys.readouterr().out)["metrics"]} == set(found)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_of_the_guides_has_values(recorded: Recorded, pattern: str) -> None:
    found = [(run, one) for run in recorded.runs.values() for one in run.find_all(pattern)]
    assert any(np.isfinite(run.series_of(one)["value"]).any() for run, one in found)


def test_in_its_guides_dialect_a_name_opens_one_entry(client: TestClient, recorded: Recorded) -> None:
    """`explain`, the glossary and the series of a run agree on what a name means.

    A run may hold only a neighbour of it, and then it warns.
    """
    wrong = {}
    for guide, dialect, name in NAMES:
        glossary = client.get("/api/glossary/entry", params={"name": name, "dialect": dialect}).json()
        told = {rs.explain(name, dialect).entry.name, glossary["entry"]["name"]}
        found = [one for run in recorded.runs.values() for one in run.find_all(name, dialect) if not one.warning]
        told |= {rs.explain(one.name or one.stored).entry.name for one in found}
        if len({EVALUATIONS.sub("eval/", entry) for entry in told}) > 1:
            wrong[guide, name] = told
    assert wrong == {}
