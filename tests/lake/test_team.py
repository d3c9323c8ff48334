"""The same lake in PostgreSQL and S3: what breaks there becomes a sentence, and loses nothing."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.lake import making
from rollscope.lake.check import check
from rollscope.lake.engine import LakeUnreachable
from rollscope.lake.place import Place
from tests.lake.bad_network import BadNetwork
from tests.lake.life import Life, check_same, pushed
from tests.lake.servers import S3, SECRET, Postgres

PUSH = (sys.executable, "-m", "rollscope", "push", "--json")


def only(life: Life, lake: Place) -> None:
    """The lake has this run as the folder has it; its catalogue has others, too."""
    store = rs.open(lake.folder)
    there, here = store.run(life.path.name), rs.open(life.root).run(life.path.name)
    for query in (
        "SELECT count(*), sum(step), count(DISTINCT id) FROM samples",
        "SELECT count(*), sum(step) FROM metrics",
    ):
        where = f" WHERE run = '{life.path.name}'"
        expected = here.sql(query, as_arrow=True).to_pylist()
        assert store.sql(query + where, as_arrow=True).to_pylist() == expected
        assert there.sql(query, as_arrow=True).to_pylist() == expected


def test_a_team_reads_what_was_pushed(tmp_path: Path, team: Place, postgres: Postgres, s3: S3) -> None:
    life = Life(tmp_path / "runs", "team-1", seed=3)
    for _ in range(3):
        life.happen()
        pushed(team, life)
    check_same(team, life, [])
    only(life, team)
    assert not pushed(team, life).ships
    assert not check(team).problems
    said = Path(team.folder, "lake.toml").read_text()
    assert postgres.password not in said and SECRET not in said
    again = making.init(str(tmp_path / "joined"), postgres.url, "s3://team/lake")  # another member's folder
    only(life, again)


def test_two_shippers_of_one_run_add_nothing_twice(tmp_path: Path, team: Place) -> None:
    life = Life(tmp_path / "runs", "team-2", seed=4)
    for _ in range(3):
        life.happen()
        command = [*PUSH, str(life.path), "--to", team.folder]
        shippers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
        assert [shipper.wait(240) for shipper in shippers] == [0, 0]
    only(life, team)


def test_servers_that_are_down_are_sentences_and_a_later_push_catches_up(
    tmp_path: Path, team: Place, postgres: Postgres, s3: S3
) -> None:
    life = Life(tmp_path / "runs", "team-3", seed=5)
    life.happen()
    pushed(team, life)
    life.happen()
    postgres.stop()
    with pytest.raises(LakeUnreachable, match="Does PostgreSQL run"):
        pushed(team, life)
    postgres.start()
    s3.stop()
    with pytest.raises(LakeUnreachable, match="AWS_ENDPOINT_URL") as said:
        pushed(team, life)
    s3.start()
    assert SECRET not in str(said.value) and postgres.password not in str(said.value)
    pushed(team, life)
    only(life, team)


@pytest.mark.parametrize("name", ["PGPASSWORD", "AWS_SECRET_ACCESS_KEY"])
def test_a_wrong_key_is_a_sentence_without_it(
    tmp_path: Path, team: Place, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    life = Life(tmp_path / "runs", f"team-{name}")
    life.grow()
    monkeypatch.setenv(name, "a-wrong-word-for-a-key")
    with pytest.raises(LakeUnreachable, match=r"PGPASSWORD|AWS_SECRET_ACCESS_KEY") as said:
        pushed(team, life)
    assert "a-wrong-word-for-a-key" not in str(said.value)


def test_a_bad_network_and_wrong_clocks_lose_nothing(
    tmp_path: Path, team: Place, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, life = BadNetwork(s3.port), Life(tmp_path / "runs", "team-5", seed=7)
    monkeypatch.setenv("AWS_ENDPOINT_URL", network.url)
    now = time.time_ns
    for mode, skew_hours in (("cut", -2), ("500", 3), ("slow", 0)):
        life.grow()
        life.seal(force=mode == "cut")
        network.mode = mode
        monkeypatch.setattr(time, "time_ns", lambda skew=skew_hours: now() + skew * 3600 * 10**9)
        with contextlib.suppress(LakeUnreachable):
            pushed(team, life)
        network.mode = "good"
        pushed(team, life)
    network.close()
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
    assert network.spoiled
    check_same(team, life, [])
    only(life, team)
