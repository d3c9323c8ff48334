"""Where the time of a step goes, from spans: step, work, waiting, every operation, micro-batches, both sides of a weight update, per token.

A lane's first word says whose it is (`trainer/0`, `inference/3`); its first two name one rank. An operation's seconds are summed on one rank (the
first), with the slowest beside it. Steps end with the last trainer span that belongs to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.catalog.names.operations import OPERATIONS, canonical
from rollscope.store.numbers.rows import stretch_starts
from rollscope.store.numbers.statistic import of_stretches
from rollscope.views.steps import Series

Ints = NDArray[np.int64]
NS = 1e-9
ELSEWHERE = (
    "inference",
    "engine",
    "rollout",
    "env",
    "reward",
    "orchestrator",
    "sandbox",
    "host",
)  # lanes of others, where nobody is called trainer
COLUMNS = ("name", "lane", "kind", "start_ns", "end_ns", "step", "microbatch", "writer", "rank", "attempt")
SYNC = ("sync_weights", "weight_sync")


@dataclass(slots=True)
class Spans:
    """Spans that belong to a step, sorted by step; words as numbers."""

    step: Ints
    start: Ints
    end: Ints
    op: Ints
    ops: list[str]
    rank: Ints
    trainer: NDArray[np.bool_]
    side: Ints  # of the lane's first word
    sides: list[str]
    wait: NDArray[np.bool_]
    microbatch: Ints  # -1: none

    def only(self, keep: NDArray[np.bool_]) -> Spans:
        return Spans(
            self.step[keep],
            self.start[keep],
            self.end[keep],
            self.op[keep],
            self.ops,
            self.rank[keep],
            self.trainer[keep],
            self.side[keep],
            self.sides,
            self.wait[keep],
            self.microbatch[keep],
        )


def times(run: Any, steps: Sequence[int] | None = None) -> dict[str, Series]:
    """Every time metric of a run by name: `{"time/step": {"step", "value", "weight"}, ...}`, in seconds. `steps` are the steps to look at."""
    rows = (
        run.drop_abandoned(run.table("spans", COLUMNS, as_arrow=True))
        if steps is None
        else run.rows_of_steps("spans", steps)
    )
    spans = _spans(rows)
    out = {"time/step": _step_total(spans, run)}
    work = spans.only(spans.trainer & ~spans.wait)
    out["time/active"] = _slowest(*_union(work))
    wait = spans.only(spans.trainer & spans.wait)
    out["time/waiting_for_data"] = _slowest(*_sums(wait.step, wait.rank, (wait.end - wait.start) * NS))
    for i, op in enumerate(spans.ops):
        out |= _operation(spans.only(spans.op == i), op)
    out["time/microbatches"] = _microbatches(spans)
    out |= _weight_sync(spans)
    out |= _per_token(out, run)
    return {name: series for name, series in sorted(out.items()) if len(series["step"])}


def _spans(found: pa.Table) -> Spans:
    found = found.filter(
        pc.and_(found["step"].is_valid(), pc.and_(found["start_ns"].is_valid(), found["end_ns"].is_valid()))
    )
    step = np.asarray(found["step"])
    if (np.diff(step) < 0).any():
        found = found.take(pa.array(np.argsort(step, kind="stable")))
    lane = pc.fill_null(found["lane"], "trainer/0").combine_chunks().dictionary_encode()
    lanes = lane.dictionary.to_pylist()
    code = lane.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    first = [one.split("/")[0] for one in lanes]
    named = any(word.startswith("trainer") for word in first)
    trainer = np.array([word.startswith("trainer") if named else word not in ELSEWHERE for word in first] or [False])
    sides = sorted(set(first))
    name = pc.fill_null(found["name"], "").combine_chunks().dictionary_encode()
    ops = [canonical(word) for word in name.dictionary.to_pylist()]
    distinct = sorted(set(ops))
    op = np.array([distinct.index(word) for word in ops] or [0], np.int64)[name.indices.to_numpy(zero_copy_only=False)]
    return Spans(
        np.asarray(found["step"]),
        np.asarray(found["start_ns"]),
        np.asarray(found["end_ns"]),
        op,
        distinct,
        _ranks(found, code, lanes),
        trainer[code],
        np.array([sides.index(word) for word in first] or [0], np.int64)[code],
        sides,
        np.asarray(pc.fill_null(pc.equal(found["kind"], "wait"), False)),
        np.asarray(pc.fill_null(found["microbatch"], -1)),
    )


def _codes(column: pa.ChunkedArray) -> Ints:
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def _ranks(found: pa.Table, lane: Ints, lanes: list[str]) -> Ints:
    """Ranks as 0, 1, 2, ...: one per process and the first two words of its lanes, by the number in the lane, so that rank 0 is the first."""
    if not len(lane):
        return lane
    units = ["/".join(one.split("/")[:2]) for one in lanes]
    numbers = [int(part) if (part := [*one.split("/"), "0"][1]).isdigit() else 0 for one in lanes]
    writer, shard = _codes(found["writer"]), np.asarray(pc.fill_null(found["rank"], 0))
    shards = np.unique(shard)
    process = writer * len(shards) + np.searchsorted(shards, shard)
    pair = process * len(lanes) + lane
    present = np.flatnonzero(np.bincount(pair))
    keys = [(numbers[p % len(lanes)], int(p) // len(lanes), units[p % len(lanes)]) for p in present.tolist()]
    place = {key: i for i, key in enumerate(sorted(set(keys)))}
    known: Ints = np.zeros(int(present[-1]) + 1, np.int64)
    known[present] = [place[key] for key in keys]
    return np.asarray(known[pair], np.int64)


def _sums(step: Ints, rank: Ints, seconds: NDArray[Any]) -> tuple[Ints, Ints, NDArray[Any]]:
    """Steps, ranks and the sum of each."""
    order = np.lexsort((rank, step))
    starts = stretch_starts(step[order], rank[order])
    sums = np.add.reduceat(seconds[order], starts) if len(starts) else np.empty(0)
    return step[order][starts], rank[order][starts], sums


def _union(spans: Spans) -> tuple[Ints, Ints, NDArray[Any]]:
    """Steps, ranks and the length of the union of each one's spans: what overlaps counts once."""
    order = np.lexsort((spans.start, spans.rank, spans.step))
    step, rank, start, end = (column[order] for column in (spans.step, spans.rank, spans.start, spans.end))
    starts = stretch_starts(step, rank)
    if not len(starts):
        return step, rank, np.empty(0)
    sizes = np.diff([*starts, len(step)])
    group = np.repeat(np.arange(len(starts)), sizes)
    origin = start[starts][group]
    width = int((end - origin).max()) + 1
    assert width * (len(starts) + 1) < 2**63, "a step of years"
    shifted = group * width  # groups end to end, so that one running maximum serves all
    covered = np.maximum.accumulate(end - origin + shifted)
    before = np.concatenate([[0], covered[:-1]])
    added = np.maximum(0, end - origin + shifted - np.maximum(start - origin + shifted, before))
    return step[starts], rank[starts], np.add.reduceat(added, starts) * NS


def _slowest(step: Ints, rank: Ints, seconds: NDArray[Any]) -> Series:
    """Of several ranks the longest."""
    starts = stretch_starts(step)
    value = np.maximum.reduceat(seconds, starts) if len(starts) else seconds
    return {"step": step[starts], "value": value, "weight": np.diff([*starts, len(step)]).astype(np.float64)}


def _first(step: Ints, rank: Ints, seconds: NDArray[Any]) -> Series:
    """Of several ranks the first."""
    starts = stretch_starts(step)
    return {"step": step[starts], "value": seconds[starts], "weight": np.ones(len(starts))}


def _step_total(spans: Spans, run: Any) -> Series:
    """From the end of one step to the end of the next; where no spans are, by the clock of the steps table."""
    work = spans.only(spans.trainer)
    starts = stretch_starts(work.step)
    step, end = work.step[starts], np.maximum.reduceat(work.end, starts) if len(starts) else work.end
    if len(step) < 2:
        clocks = run.steps()
        step, end = clocks["step"], clocks["end_ns"]
    follows = np.diff(step) == 1
    return {"step": step[1:][follows], "value": np.diff(end)[follows] * NS, "weight": np.ones(int(follows.sum()))}


def _operation(spans: Spans, op: str) -> dict[str, Series]:
    seconds = np.asarray((spans.end - spans.start) * NS, np.float64)
    sums = _sums(spans.step, spans.rank, seconds)
    out = {f"time/{op}": _first(*sums)}
    if len(np.unique(spans.rank)) > 1:
        out[f"time/{op}/slowest_rank"] = _slowest(*sums)
    micro = spans.microbatch >= 0
    if micro.any():
        order = np.lexsort((seconds[micro], spans.step[micro]))
        step, stats = of_stretches(spans.step[micro][order], seconds[micro][order])
        for stat in ("mean", "std", "min", "max"):
            out[f"time/{op}/microbatch/{stat}"] = {"step": step, "value": stats[stat], "weight": stats["n"]}
    return out


def _microbatches(spans: Spans) -> Series:
    """Distinct micro-batches of a step on one rank."""
    micro = spans.only(spans.microbatch >= 0)
    if not len(micro.step):
        return _slowest(micro.step, micro.rank, np.empty(0))
    low, ranks, wide = int(micro.step.min()), int(micro.rank.max()) + 1, int(micro.microbatch.max()) + 1
    keys = np.unique(((micro.step - low) * ranks + micro.rank) * wide + micro.microbatch) // wide
    return _slowest(*_sums(keys // ranks + low, keys % ranks, np.ones(len(keys))))


def _weight_sync(spans: Spans) -> dict[str, Series]:
    """First start to last end on each side."""
    out: dict[str, Series] = {}
    named = np.array([op.split("/")[0] in SYNC for op in spans.ops] or [False])[spans.op]
    for side, mine in (
        ("trainer", spans.trainer),
        (
            "inference",
            np.array([s.startswith(("inference", "engine", "rollout")) for s in spans.sides] or [False])[spans.side],
        ),
    ):
        found = spans.only(named & mine)
        starts = stretch_starts(found.step)
        if len(starts):
            length = (np.maximum.reduceat(found.end, starts) - np.minimum.reduceat(found.start, starts)) * NS
            out[f"time/weight_sync/{side}"] = {
                "step": found.step[starts],
                "value": length,
                "weight": np.ones(len(starts)),
            }
    return out


def _per_token(out: dict[str, Series], run: Any) -> dict[str, Series]:
    """Seconds of an operation for each token it worked on, where the samples of the step say how many there were."""
    tokens = _tokens(run)
    found: dict[str, Series] = {}
    for operation in OPERATIONS:
        series = out.get(f"time/{operation.name}")
        count = tokens.get(operation.tokens)
        if series is None or count is None:
            continue
        shared, at, where = np.intersect1d(series["step"], count["step"], return_indices=True)
        found[f"time_per_token/{operation.name}"] = {
            "step": shared,
            "value": series["value"][at] / count["value"][where],
            "weight": count["value"][where],
        }
    return found


def _tokens(run: Any) -> dict[str, Series]:
    table = run.rollups()
    table = table.filter(
        pc.and_(pc.equal(table["fate"].cast(pa.string()), ""), pc.equal(table["env"].cast(pa.string()), ""))
    )
    sums: dict[str, dict[int, float]] = {}
    for what in ("prompt_tokens", "completion_tokens", "response_tokens"):
        rows = table.filter(pc.equal(table["what"].cast(pa.string()), what))
        sums[what] = dict(
            zip(rows["step"].to_pylist(), (rows["n"].to_numpy() * rows["mean"].to_numpy()).tolist(), strict=True)
        )
    response = sums["response_tokens"] or sums["completion_tokens"]
    whole = {
        step: count + sums["prompt_tokens"][step] for step, count in response.items() if step in sums["prompt_tokens"]
    }
    return {word: _series(counts) for word, counts in (("response", response), ("all", whole)) if counts}


def _series(counts: dict[int, float]) -> Series:
    step = np.array(sorted(counts), np.int64)
    return {"step": step, "value": np.array([counts[s] for s in step.tolist()]), "weight": np.ones(len(step))}
