"""A lake's cache: what is not read is not fetched, what was not read for long leaves again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput
from rollscope.lake import deletion, door, engine
from rollscope.lake.cache import bound, mirror
from rollscope.lake.cache.mirroring import Mirroring
from rollscope.lake.place import Place
from rollscope.store import notes
from rollscope.store.sealed import elsewhere
from tests.lake.life import Life, check_same, pushed


@pytest.fixture
def sealed(lake: Place, life: Life) -> Life:
    """A run in one set, and in the lake."""
    for _ in range(3):
        life.grow()
    life.end()
    life.seal(force=True)
    pushed(lake, life)
    return life


def here(folder: str) -> set[str]:
    """The files with rows that the cache has of a run."""
    return {path.name for path in Path(folder).glob("*.sealed/*.parquet")}


def test_what_is_not_read_is_not_fetched(lake: Place, sealed: Life) -> None:
    run = rs.open(lake.folder).run("r1")
    assert here(run.path) == set()
    run.series("loss")
    assert here(run.path) == {"metrics.parquet"}
    run.samples(columns=["reward"])
    assert "samples.parquet" in here(run.path) and "samples.text.parquet" not in here(run.path)
    assert set(run.samples(columns=["completion"])["completion"]) == {"text"}
    assert "samples.text.parquet" in here(run.path)
    check_same(lake, sealed)


def test_a_server_fetches_no_sample_before_somebody_asks(lake: Place, sealed: Life) -> None:
    mirroring = Mirroring(lake)
    mirroring.look()
    assert here(str(Path(mirroring.folder, "r1"))) == set()
    assert elsewhere.lacks(str(Path(mirroring.folder, "r1")))
    code = "import sys; from rollscope.lake import door; print(len(door.open(sys.argv[1]).run('r1').samples()['id']))"
    said = subprocess.run([sys.executable, "-c", code, mirroring.folder], capture_output=True, text=True, check=True)
    assert int(said.stdout) == 24  # another process fetches it too
    assert {"samples.parquet", "samples.text.parquet"} <= here(str(Path(mirroring.folder, "r1")))
    deletion.delete(lake, "r1")  # while no server ran
    again = Mirroring(lake)
    again.look()
    assert not Path(again.folder, "r1").exists()


def test_what_was_not_read_for_longest_leaves_first(
    lake: Place, sealed: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Life(tmp_path / "runs", "r2")
    other.grow()
    other.end()
    other.seal(force=True)
    pushed(lake, other)
    monkeypatch.setenv(bound.VARIABLE, "0.00003")  # 30 kB: less than both runs have
    monkeypatch.setenv("ROLLSCOPE_CACHE", str(tmp_path / "small"))
    store = rs.open(lake.folder)
    for _ in range(2):
        for id in ("r1", "r2"):
            assert store.sql("SELECT count(*) AS n FROM samples WHERE run = ?", [id])["n"][0] > 0
            assert set(store.run(id).samples(columns=["completion"])["completion"]) == {"text"}
            assert len(store.run(id).series("loss")["value"])
    held = [path for path in Path(store.path).glob("*/*.sealed/[a-z]*") if "manifest" not in path.name]
    assert 0 < sum(path.stat().st_size for path in held) <= 30_000

    monkeypatch.setenv(bound.VARIABLE, "much")
    with pytest.raises(BadInput, match="ROLLSCOPE_CACHE_GB is 'much'; expected how many GB"):
        bound.Bound(str(sealed.root))


def test_a_folder_cannot_call_itself_a_cache(lake: Place, sealed: Life, tmp_path: Path) -> None:
    """Its files would be fetched with the keys of the person who opens it."""
    run = rs.open(lake.folder).run("r1")
    strange = tmp_path / "strange"
    (strange / ".rollscope").mkdir(parents=True)
    (strange / ".rollscope" / "lake").write_text(str(Path(lake.folder).resolve()))
    (strange / "r1").symlink_to(run.path)
    with pytest.raises(rs.RollscopeError):
        door.open(strange).run("r1").samples(columns=["completion"])
    assert here(str(strange / "r1")) == set()


def test_what_people_say_is_shipped_with_a_run_and_through_servers(
    lake: Place, sealed: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rs.open(sealed.root).project.append("tag", "r1/best", True)
    rs.open(sealed.root).project.append("tag", "elsewhere/secret", True)
    rs.open(sealed.root).project.append("board", "main", {"panels": []})
    pushed(lake, sealed)
    pushed(lake, sealed)
    (row,) = rs.open(lake.folder).runs()
    assert row["tags"] == ["a", "best"]
    lines = Path(mirror.root_of(lake), "project.jsonl").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["tag", "board"]
    servers = []
    for name in ("one", "two"):
        monkeypatch.setenv("ROLLSCOPE_CACHE", str(tmp_path / name))
        servers.append(Mirroring(lake))
    one, two = (rs.open(server.folder).project for server in servers)
    for server in servers:
        server.look()
    made = one.append("note", "r1", "look here", author="ann")
    for server in servers:
        server.look()
    assert two.current("note") == {"r1": "look here"}
    two.undo([made.id])
    for server in (*servers[::-1], *servers):
        server.look()
    assert one.current("note") == {} and len(one.follow()) == len(two.follow()) == 4
    written = notes.write(str(Path(servers[0].folder, "r1")), {"step": 2, "text": "at a step"})
    for server in servers:
        server.look()
    for folder in (lake.folder, servers[1].folder):
        said = rs.open(folder).sql("SELECT time_ns FROM notes WHERE text = 'at a step'")
        assert said["time_ns"].tolist() == [written["time_ns"]]


def test_a_lake_made_before_people_were_shipped_is_upgraded(lake: Place, life: Life) -> None:
    with engine.connected(lake) as connection:
        connection.execute("DROP TABLE lake.book.said")
    life.grow()
    rs.open(life.root).project.append("tag", "r1/old", True)
    assert rs.open(lake.folder).runs() == []
    pushed(lake, life)
    assert rs.open(lake.folder).runs()[0]["tags"] == ["a", "old"]


SCANNER = """
from rollscope.scan import scanner

@scanner(needs=["completion"])
def length(samples):
    return [len(sample["completion"] or "") for sample in samples]
"""


def test_a_lake_is_scanned_and_recomputed_and_keeps_the_results(lake: Place, sealed: Life, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SCANNER)
    assert main(["scan", str(tmp_path / "mine.py"), "r1", "--dir", lake.folder, "--workers", "1"]) == 0
    assert main(["recompute", "reward", "--runs", "r1", "--dir", lake.folder, "--workers", "1"]) == 0
    for _ in range(2):  # also after the folder, which has none of it, is pushed again
        run = rs.open(lake.folder).run("r1")
        assert run.series("scan/length/mean")["value"].tolist() == [4.0] * 3
        assert run.series("recomputed/reward/mean")["step"].tolist() == [1, 2, 3]
        said = rs.open(lake.folder).sql("SELECT count(*) AS n FROM scans WHERE name = 'length'")
        assert said["n"].tolist() == [24]
        sealed.compact()
        pushed(lake, sealed)
    assert not rs.open(sealed.root).run("r1").has("scans")
