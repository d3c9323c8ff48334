"""Many series on one grid: each name gets its own values, in any order of names."""

import itertools

import numpy as np
import pytest

import rollscope as rs
from rollscope.store.run import Run
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


@pytest.fixture
def long_run(tmp_path, monkeypatch):
    """3,000 sealed steps: a grid of ten buckets over all of them reads blocks of 64 points."""
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")
    with rs.init(name="x", id="x", dir=tmp_path, host=False) as run:
        for step in range(3000):
            run.log({"a": float(step), "b": -float(step)}, step=step)
    seal(str(run.folder))
    return rs.open(tmp_path).run("x")


@pytest.mark.parametrize("clock", ["step", "relative"])
def test_a_narrow_window_of_a_long_run_has_each_point(long_run, clock):
    series = long_run.series("a", x=clock)
    x = series["step"] if clock == "step" else series["x"]
    lo, hi = float(x[1000]), float(x[1009])
    grid = long_run.buckets(["a", "b"], lo, hi, 10, clock)
    inside = (x >= lo) & (x <= hi)
    assert grid["count"].sum(1).tolist() == [inside.sum()] * 2
    assert (np.nanmin(grid["min"][0]), np.nanmax(grid["max"][0])) == (  # by time, a bucket may be empty
        series["value"][inside].min(),
        series["value"][inside].max(),
    )
    whole = long_run.buckets(["a"], -0.5, 2999.5, 10)
    assert whole["count"].sum() == 3000 and whole["max"].max() == 2999


def test_a_logged_name_is_found_without_computing_others(tmp_path):
    def never(run):
        raise AssertionError("samples were read")

    with rs.init(name="x", id="x", dir=tmp_path, host=False) as run:
        run.log({"a": 1.0}, step=0)
    reader = Run(str(run.folder), derived=never)
    assert [one.stored for one in reader.find_all("a")] == ["a"] and reader.find("a").stored == "a"
    with pytest.raises(AssertionError):
        reader.find("b")
