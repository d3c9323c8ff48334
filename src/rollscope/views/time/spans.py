"""Spans of a run as columns, with words as codes.

The first word of a lane says whose it is (`trainer/0`, `inference/3`); its first two words name one
rank. A span without a lane is on `trainer/0`. Spans without a step or a time are left out, and so
are those of Ray's workers, which are what the trainer's stages consist of: their time is in the
stages already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store.run import Run

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
NO_LANE = "trainer/0"
ELSEWHERE = (  # first words of lanes that are not the trainer's, in runs whose lanes do not say `trainer`
    *("inference", "engine", "rollout", "env", "reward", "orchestrator", "sandbox", "host"),
)
RAY = "ray:"  # begins the lanes of Ray's workers
COLUMNS = ("name", "lane", "kind", "start_ns", "end_ns", "step", "microbatch", "writer", "rank", "attempt")


@dataclass(slots=True)
class Spans:
    """Spans that belong to a step, sorted by step."""

    step: Ints
    start: Ints
    end: Ints
    name: Ints  # index into `names`
    lane: Ints  # index into `lanes`
    rank: Ints
    wait: Mask
    microbatch: Ints  # -1: none
    names: list[str]
    lanes: list[str]

    def only(self, keep: Mask) -> Spans:
        return Spans(
            self.step[keep],
            self.start[keep],
            self.end[keep],
            self.name[keep],
            self.lane[keep],
            self.rank[keep],
            self.wait[keep],
            self.microbatch[keep],
            self.names,
            self.lanes,
        )

    def without_detail(self) -> Spans:
        """Without the slots (`inference/0/3`) of lanes that have spans of their own.

        Such a lane has counted the time of its slots already.
        """
        own = {lane for lane in self.lanes if lane.count("/") == 1}
        detail = [lane.count("/") > 1 and "/".join(lane.split("/")[:2]) in own for lane in self.lanes]
        return self.only(~self._by_lane(detail)) if any(detail) else self

    def on_trainer(self) -> Mask:
        """Which spans are the trainer's: by the word `trainer`, else all that are not elsewhere."""
        words = [lane.split("/")[0] for lane in self.lanes]
        named = any(word.startswith("trainer") for word in words)
        return self._by_lane([word.startswith("trainer") if named else not is_elsewhere(word) for word in words])

    def on_lanes(self, prefixes: tuple[str, ...]) -> Mask:
        """Which spans are on lanes that begin with one of these words."""
        return self._by_lane([lane.startswith(prefixes) for lane in self.lanes])

    def _by_lane(self, flags: list[bool]) -> Mask:
        return np.array(flags or [False])[self.lane]


def is_elsewhere(word: str) -> bool:
    """Does the first word of a lane say that it is not the trainer's?"""
    return word in ELSEWHERE or word.startswith(RAY)


def read_spans(run: Run, steps: Sequence[int] | None = None) -> Spans:
    """All spans of a run, or those of some steps, without those of abandoned attempts."""
    if steps is None:
        return _coded(run.drop_abandoned(run.table("spans", COLUMNS, as_arrow=True)))
    return _coded(run.rows_of_steps("spans", steps))


def _coded(rows: pa.Table) -> Spans:
    timed = pc.and_(rows["start_ns"].is_valid(), rows["end_ns"].is_valid())
    rays = pc.fill_null(pc.starts_with(rows["lane"], RAY), False)
    rows = rows.filter(pc.and_(pc.and_(rows["step"].is_valid(), timed), pc.invert(rays)))
    step = np.asarray(rows["step"])
    if (np.diff(step) < 0).any():
        rows = rows.take(pa.array(np.argsort(step, kind="stable")))
    name, names = _codes(rows["name"], "")
    lane, lanes = _codes(rows["lane"], NO_LANE)
    return Spans(
        step=np.asarray(rows["step"]),
        start=np.asarray(rows["start_ns"]),
        end=np.asarray(rows["end_ns"]),
        name=name,
        lane=lane,
        rank=_ranks(rows, lane, lanes),
        wait=np.asarray(pc.fill_null(pc.equal(rows["kind"], "wait"), False)),
        microbatch=np.asarray(pc.fill_null(rows["microbatch"], -1)),
        names=names,
        lanes=lanes,
    )


def _codes(column: pa.ChunkedArray, default: str) -> tuple[Ints, list[str]]:
    """Words as indices into the list of distinct words."""
    encoded = pc.fill_null(column, default).combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()


def _ranks(rows: pa.Table, lane: Ints, lanes: list[str]) -> Ints:
    """Number the ranks 0, 1, 2, ... by the number in the lane.

    A rank is a process and the first two words of its lanes, so rank 0 is the first.
    """
    if not len(lane):
        return lane
    units = ["/".join(one.split("/")[:2]) for one in lanes]
    numbers = [int(word) if (word := [*one.split("/"), "0"][1]).isdigit() else 0 for one in lanes]
    (writer, _), shard = _codes(rows["writer"], ""), np.asarray(pc.fill_null(rows["rank"], 0))
    shards = np.unique(shard)
    process = writer * len(shards) + np.searchsorted(shards, shard)
    pair = process * len(lanes) + lane
    present = np.flatnonzero(np.bincount(pair))
    keys = [(numbers[p % len(lanes)], int(p) // len(lanes), units[p % len(lanes)]) for p in present.tolist()]
    rank_of = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    ranks: Ints = np.zeros(int(present[-1]) + 1, np.int64)
    ranks[present] = [rank_of[key] for key in keys]
    return np.asarray(ranks[pair], np.int64)
