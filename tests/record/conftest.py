"""A recorder in a temporary folder, and its logs read back with nothing but `scan`."""

import functools
import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.store.log.block import Meta, Metrics, Table
from rollscope.store.log.scan import scan

JSON = {
    "data",
    "extra",
    "rewards",
    "config",
    "environment",
    "declared",
    "tags",
    "scores",
    "messages",
    "sample_metrics",
    "media",
}


class Recorded:
    """Everything in a run's folder: `rows[table]`, `values[(name, step)]` (a list, in the order written), `opens`, `ends`, `damage`, `numbers`."""

    def __init__(self, folder):
        self.rows, self.metrics, self.opens, self.ends, self.damage = defaultdict(list), [], [], 0, []
        for path in sorted(Path(folder).glob("*.log")):
            found = scan(path)
            self.damage += found.damage
            for block in found.blocks:
                self._take(block)

    def _take(self, block):
        if isinstance(block, Meta):
            self.opens += [block.facts] if block.what == "open" else []
            self.ends += block.what == "end"
        elif isinstance(block, Table):
            self.rows[block.table] += [
                {k: json.loads(v) if k in JSON else v for k, v in row.items()} for row in block.records()
            ]
        elif isinstance(block, Metrics):
            self.metrics.append(block)

    @property
    def numbers(self):
        return sum(block.values.size for block in self.metrics)

    @functools.cached_property
    def values(self):
        found = defaultdict(list)
        for block in self.metrics:
            if block.index is not None:
                for i, step, value in zip(
                    block.index.tolist(), block.step.tolist(), block.values.tolist(), strict=True
                ):
                    found[block.names[i], step].append(value)
            else:
                for step, row in zip(block.step.tolist(), block.values.tolist(), strict=True):
                    for name, value in zip(block.names, row, strict=True):
                        found[name, step].append(value)
        return found

    def states(self, name):
        """[(kind, state)] of the partials under a name."""
        out = []
        for block in self.metrics:
            if block.states is None or name not in block.names:
                continue
            column, ends = block.names.index(name), block.lengths.ravel().cumsum()
            for row in range(len(block.step)):
                at = row * len(block.names) + column
                out.append(
                    (block.kinds[column], block.states[ends[at] - block.lengths.ravel()[at] : ends[at]].tolist())
                )
        return out

    @property
    def losses(self):
        found = defaultdict(int)
        for note in self.rows["notes"]:
            if note["kind"] == "loss":
                found[note["data"]["what"]] += note["data"]["count"]
        return dict(found)


@pytest.fixture(autouse=True)
def _no_sealing(monkeypatch):
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")
    for name in ("RANK", "WORLD_SIZE", "ROLLSCOPE_DIR", "ROLLSCOPE_RUN_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def init(tmp_path):
    """`rs.init` in a temporary folder, without the host watcher; every run is finished at the end."""
    runs = []

    def start(**more):
        runs.append(rs.init(**{"dir": tmp_path / "runs", "host": False, "name": "test", **more}))
        return runs[-1]

    yield start
    for run in runs:
        run.finish()


@pytest.fixture
def recorded():
    return lambda run: Recorded(getattr(run, "folder", run))


@pytest.fixture
def is_root():
    return os.geteuid() == 0
