"""A reader survives any block that is whole: nonsense costs itself, what is unusual is read."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.store.log import check
from rollscope.store.numbers import partial_sums
from rollscope.store.seal import compact, logs
from tests.store.conftest import World
from tests.store.doors import failing
from tests.store.odd_blocks import NOT_UNDERSTOOD, UNUSUAL, Odd, good_rows

SOME = 12  # odd blocks in one run: similar ones stand together
CHUNKS = [dict(islice(UNUSUAL.items(), at, at + SOME)) for at in range(0, len(UNUSUAL), SOME)]


def fill(world: World, odd: dict[str, Odd]) -> None:
    """Good rows, odd blocks between them, and an end."""
    writer = world.writer()
    for step in (1, 2):
        good_rows(writer, step)
    for add in odd.values():
        add(writer)
    good_rows(writer, 5)
    writer.finish()


def seal(world: World) -> None:
    assert logs.seal(str(world.run)) == 1


def merge(world: World) -> None:
    """Merge the set with that of a second writer."""
    good_rows(writer := world.writer(2), 7)
    writer.finish()
    logs.seal(str(world.run))
    assert compact.compact(str(world.run), everything=True) == 1


def check_good_rows(root: Path) -> None:
    run = rs.open(root).run("r1")
    assert {1, 2, 5} <= set(run.series("good")["step"].tolist())
    assert {"s10", "s11", "s20", "s21", "s50", "s51"} <= set(run.samples()["id"])
    assert run.sample("s10")["completion"] == "good"
    assert {"good 1", "good 2", "good 5"} <= set(run.notes()["text"])
    assert list(run.spans()["name"]).count("generate") >= 3 and list(run.evals()["set"]).count("e") >= 3
    assert list(run.turns()["content"]).count("good") >= 3 and list(run.host()["name"]).count("load") >= 3


def test_blocks_that_are_not_understood_cost_themselves(world: World) -> None:
    fill(world, NOT_UNDERSTOOD)
    for advance in (lambda _: None, seal, merge):
        advance(world)
        assert not failing(world.root)
        check_good_rows(world.root)
        says = [damage.says for damage in rs.open(world.root).run("r1").verify()]
        assert len(says) == len(NOT_UNDERSTOOD) and all("whole but not understood" in text for text in says)
    assert list(world.run.glob("*.log")), "a log with something that was not understood is kept"


@pytest.mark.parametrize("odd", CHUNKS, ids=[next(iter(chunk)) for chunk in CHUNKS])
def test_unusual_blocks_are_read(world: World, odd: dict[str, Odd]) -> None:
    fill(world, odd)
    for advance in (lambda _: None, seal, merge):
        advance(world)
        assert not failing(world.root)
        check_good_rows(world.root)
        assert not rs.open(world.root).run("r1").verify()


COMMANDS = (
    *(["ls"], ["show", "r1"], ["show", "r1", "--verify", "--json"], ["samples", "r1", "--markdown", "--limit", "100"]),
    *(["doctor", "r1"], ["export", "r1", "--format", "csv"], ["export", "r1", "--format", "parquet"]),
    *(["sql", "select * from metrics", "--csv"], ["sql", "select * from samples", "--json"], ["compact", "r1"]),
)


def test_commands_answer_about_every_odd_block(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path_factory: Any
) -> None:
    fill(world, {**NOT_UNDERSTOOD, **UNUSUAL})
    monkeypatch.chdir(tmp_path_factory.mktemp("out"))
    for words in COMMANDS:
        assert main([*words, "--dir", str(world.root)]) in (0, 1), (words, capsys.readouterr().err)
        assert "bug in Rollscope" not in capsys.readouterr().err


def test_the_store_knows_how_many_numbers_each_kind_has() -> None:
    assert set(check.STATE_LENGTHS) == {*partial_sums.VECTOR, "int"}
