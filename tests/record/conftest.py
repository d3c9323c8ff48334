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

JSON = {  # columns that hold JSON
    *("config", "environment", "declared", "data", "extra", "tags", "scores", "rewards"),
    *("messages", "causes", "sample_metrics", "media"),
}


class Recorded:
    """Everything in a run's folder.

    `rows[table]`, `values[(name, step)]` (a list, in the order written), `opens`, `ends`, `damage`,
    `numbers`.
    """

    def __init__(self, folder):
        self.rows, self.metrics, self.opens, self.ends, self.damage = defaultdict(list), [], [], 0, []
        for path in sorted(Path(folder).glob("*.log")):
            log = scan(path)
            self.damage += log.damage
            for block in log.blocks:
                self._take(block)

    def _take(self, block):
        if isinstance(block, Meta):
            self.opens += [block.facts] if block.what == "open" else []
            self.ends += block.what == "end"
        elif isinstance(block, Table):
            for row in block.records():
                self.rows[block.table].append({k: json.loads(v) if k in JSON else v for k, v in row.items()})
        elif isinstance(block, Metrics):
            self.metrics.append(block)

    @property
    def numbers(self):
        return sum(block.values.size for block in self.metrics)

    @functools.cached_property
    def values(self):
        values = defaultdict(list)
        for block in self.metrics:
            steps, cells = block.step.tolist(), block.values.tolist()
            if block.index is not None:
                for i, step, value in zip(block.index.tolist(), steps, cells, strict=True):
                    values[block.names[i], step].append(value)
            else:
                for step, row in zip(steps, cells, strict=True):
                    for name, value in zip(block.names, row, strict=True):
                        values[name, step].append(value)
        return values

    def states(self, name):
        """[(kind, state)] of the partials under a name."""
        out = []
        for block in self.metrics:
            if block.states is None or name not in block.names:
                continue
            column, lengths = block.names.index(name), block.lengths.ravel()
            ends = lengths.cumsum()
            for row in range(len(block.step)):
                at = row * len(block.names) + column
                out.append((block.kinds[column], block.states[ends[at] - lengths[at] : ends[at]].tolist()))
        return out

    @property
    def losses(self):
        counts = defaultdict(int)
        for note in self.rows["notes"]:
            if note["kind"] == "loss":
                counts[note["data"]["what"]] += note["data"]["count"]
        return dict(counts)


@pytest.fixture(autouse=True)
def _no_sealing(monkeypatch):
    monkeypatch.setenv("ROLLSCOPE_SEAL", "0")
    for name in ("RANK", "WORLD_SIZE", "ROLLSCOPE_DIR", "ROLLSCOPE_RUN_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def init(tmp_path):
    """`rs.init` in a temporary folder, without the host watcher. Every run is finished."""
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
