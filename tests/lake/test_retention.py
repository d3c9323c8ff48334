"""Text and tokens are let go by rule: really deleted, said, and never shipped again."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput
from rollscope.lake import place as places
from rollscope.lake import retention
from rollscope.lake.place import Place
from rollscope.store.run import Run
from rollscope.views.let_go import let_go_sentence
from rollscope.views.samples.sample_detail import sample_detail, sample_details
from tests.lake.life import Life, pushed, rows

RULES = "\n[retain]\ntext_days = 90\ntokens_days = 14\n"


def texts(lake: Place, column: str) -> int:
    """How many rows of any Parquet file below the lake's data have a value in a column."""
    found = [str(path) for path in Path(lake.data_path()).rglob("*") if path.is_file()]
    count = 0
    for path in found:
        if path.endswith(".parquet") or ".text.parquet/" in path or "/samples.parquet/" in path:
            names = {row[0] for row in duckdb.sql(f"DESCRIBE SELECT * FROM read_parquet('{path}')").fetchall()}
            if column in names:
                count += duckdb.sql(f"SELECT count({column}) FROM read_parquet('{path}')").fetchall()[0][0]
    return count


def test_a_run_lets_go_of_tokens_and_then_of_text(lake: Place, life: Life, tmp_path: Path) -> None:
    kept = Life(tmp_path / "runs", "r2")
    for one in (life, kept):
        one.grow()
        one.seal(force=True)
        one.grow()
        one.end()
        pushed(lake, one)
    lake_that_retains(lake)
    rs.open(kept.root).project.append("tag", "r2/keep", True)
    pushed(lake, kept)
    assert places.read(lake.folder) == lake  # an older Rollscope reads it as before
    local = rs.open(life.root).run("r1")
    whole = local.samples(columns=["id", "reward", "completion", "logp"])
    end = next(row["ended_ns"] for row in rs.open(lake.folder).newest() if row["id"] == "r1")
    day = retention.DAY_NS
    assert retention.due(lake, end + 13 * day) == []
    (first,) = retention.due(lake, end + 20 * day)
    assert (first.run, first.what) == ("r1", ("tokens",))
    assert texts(lake, "logp") > len(whole["id"]) > 0
    assert retention.retain(lake, first) > 0
    reader = rs.open(lake.folder).run("r1")
    after = reader.samples(columns=["id", "reward", "completion", "logp"])
    assert sorted(after["id"]) == sorted(whole["id"]) and set(after["completion"]) == {"text"}
    assert all(value is None for value in after["logp"])
    assert reader.let_go().keys() == {"tokens"} and local.let_go() == {}
    (second,) = retention.due(lake, end + 91 * day)
    assert second.what == ("text",)
    assert main(["lake", "tidy", lake.folder, "--retain"]) == 0  # the run ended years ago
    assert retention.due(lake) == []
    reader = rs.open(lake.folder).run("r1")
    assert reader.let_go().keys() == {"text", "tokens"}
    assert set(reader.samples(columns=["completion"])["completion"]) == {None}
    assert set(rs.open(lake.folder).run("r2").samples(columns=["completion"])["completion"]) == {"text"}
    of_kept = len(rs.open(kept.root).run("r2").samples(columns=["id"])["id"])
    for column in ("completion", "logp"):  # the tables and the objects of the run that is kept, and no other
        assert of_kept <= texts(lake, column) <= 4 * of_kept
        said = rs.open(lake.folder).sql(f"SELECT run, count({column}) AS n FROM samples GROUP BY run ORDER BY run")
        assert said["n"].tolist() == [0, of_kept]
    for table in ("metrics", "spans", "evals"):
        assert rows(rs.open(lake.folder), table, life.path.name) == rows(rs.open(life.root), table, life.path.name)
    check_not_shipped_again(lake, life)


def test_samples_that_people_marked_keep_theirs(lake: Place, life: Life) -> None:
    for _ in range(2):
        life.grow()
        life.rotate()
    life.end()
    marks = rs.open(life.root).project
    marks.append("star", "r1/1-0-0", True)
    marks.append("set", "hard/r1/2-1-3", True)
    marks.append("comment", "r1/c1/1-1-2", "why?")
    marks.append("star", "r1/2-0-0", True)
    marks.append("star", "r1/2-0-0", None)  # taken back
    pushed(lake, life)
    wanted = ("completion", "logp")
    whole = rs.open(life.root).run("r1").samples(columns=["id", *wanted])
    (one,) = retention.due(lake_that_retains(lake))
    assert retention.retain(lake, one) > 0
    kept = {"1-0-0", "2-1-3", "1-1-2"}
    reader = rs.open(lake.folder).run("r1")
    after = reader.samples(columns=["id", *wanted])
    assert len(after["id"]) == len(whole["id"]) > len(kept)
    for name in wanted:
        assert {id for id, value in zip(after["id"], after[name], strict=True) if value is not None} == kept
        found = rs.open(lake.folder).sql(f"SELECT DISTINCT id FROM samples WHERE {name} IS NOT NULL")
        assert set(found["id"]) == kept
    assert set(reader.turns()["content"]) == {"c", None}
    found = rs.open(lake.folder).sql("SELECT sample FROM turns WHERE content IS NOT NULL")
    assert found["sample"].tolist() == ["1-0-0"]
    check_what_is_said(reader, kept)


def lake_that_retains(lake: Place) -> Place:
    Path(lake.folder, "lake.toml").write_text(Path(lake.folder, "lake.toml").read_text() + RULES)
    return lake


def check_what_is_said(reader: Run, kept: set[str]) -> None:
    """A sample that has everything does not read as one that lost it."""
    said = {row["id"]: row["let_go"] for row in sample_details(reader, list(reader.samples(columns=["id"])["id"]))}
    assert {id for id, text in said.items() if not text} == kept
    assert all(sample_detail(reader, id)["let_go"] == text for id, text in said.items())
    assert said["2-0-0"].startswith("The lake let go of the text and the tokens on ")
    assert let_go_sentence(reader).endswith("Samples that were marked then keep theirs.")


def check_not_shipped_again(lake: Place, life: Life) -> None:
    assert pushed(lake, life).ships == 0
    assert set(rs.open(lake.folder).run("r1").samples(columns=["completion"])["completion"]) == {None}
    life.resume()
    life.grow()
    with pytest.raises(BadInput, match="has let go of the text and the tokens of the run 'r1'"):
        pushed(lake, life)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("words_days = 3", "'words_days'; it knows text_days, tokens_days"),
        ("text_days = 'long'", "text_days = 'long' in lake.toml is no number of days"),
        ("unless_tagged = 'keep'", "is no list of tags"),
    ],
)
def test_a_rule_that_cannot_be_read_is_said(tmp_path: Path, text: str, says: str) -> None:
    place = places.new(str(tmp_path / "lake"))
    places.write(place)
    Path(place.folder, "lake.toml").write_text(Path(place.folder, "lake.toml").read_text() + f"[retain]\n{text}\n")
    with pytest.raises(BadInput, match=says):
        retention.rules(place)
