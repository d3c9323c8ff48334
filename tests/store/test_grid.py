"""Many series on one grid: each name gets its own values, in any order of names."""

import itertools

import pytest

import rollscope as rs
from rollscope.store.seal.logs import seal

NAMES = ["b", "a", "c"]


@pytest.mark.parametrize("sealed", [False, True], ids=["live", "sealed"])
def test_every_name_gets_its_own_values(tmp_path, monkeypatch, sealed):
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")
    with rs.init(name="x", id="x", dir=tmp_path, host=False) as run:
        for step in range(40):
            run.log({name: float(ord(name)) for name in NAMES}, step=step)
    if sealed:
        seal(str(run.folder))
    reader = rs.open(tmp_path).run("x")
    for names in itertools.permutations(NAMES):
        for points in (1, 3):
            grid = reader.buckets(list(names), -1.0, 50.0, points)
            assert grid["max"][:, 0].tolist() == [float(ord(name)) for name in names]
