"""Every time metric of a run, from its spans: steps, work, waiting, operations, weight updates.

An operation's seconds are summed on the first rank, nested spans included; the slowest rank is a
series of its own. A step ends with the last trainer span that belongs to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.catalog.names.operations import OPERATIONS, canonical
from rollscope.store.numbers.rows import stretch_starts
from rollscope.store.numbers.statistic import of_stretches
from rollscope.store.run import Run
from rollscope.views.steps import Series

from .spans import Ints, Spans, read_spans

Floats = NDArray[np.float64]
PerRank = tuple[Ints, Ints, Floats]  # steps, ranks and seconds, sorted by step and rank
NS = 1e-9
SYNC = ("sync_weights", "weight_sync")
INFERENCE = ("inference", "engine", "rollout")


def times(run: Run, steps: Sequence[int] | None = None) -> dict[str, Series]:
    """Time metrics by name, in seconds: `{"time/step": {"step", "value", "weight"}, ...}`.

    With `steps`, only spans of these steps are read.
    """
    spans = read_spans(run, steps).without_detail()
    trainer = spans.on_trainer()
    wait = spans.only(trainer & spans.wait)
    metrics = {
        "time/step": _step_total(spans.only(trainer), run),
        "time/active": _slowest(_union(spans.only(trainer & ~spans.wait))),
        "time/waiting_for_data": _slowest(_sums(wait.step, wait.rank, (wait.end - wait.start) * NS)),
        **_operations(spans),
        "time/microbatches": _microbatches(spans),
        **_weight_sync(spans, trainer),
    }
    metrics |= _per_token(metrics, run)
    return {name: series for name, series in sorted(metrics.items()) if len(series["step"])}


def _sums(step: Ints, rank: Ints, seconds: NDArray[Any]) -> PerRank:
    """The sum of each step and rank."""
    order = np.lexsort((rank, step))
    starts = stretch_starts(step[order], rank[order])
    sums = np.add.reduceat(seconds[order], starts) if len(starts) else np.empty(0)
    return step[order][starts], rank[order][starts], sums


def _union(spans: Spans) -> PerRank:
    """The length of the union of each step and rank's spans: overlaps count once."""
    order = np.lexsort((spans.start, spans.rank, spans.step))
    step, rank, start, end = (column[order] for column in (spans.step, spans.rank, spans.start, spans.end))
    starts = stretch_starts(step, rank)
    if not len(starts):
        return step, rank, np.empty(0)
    sizes = np.diff([*starts, len(step)])
    group = np.repeat(np.arange(len(starts)), sizes)
    origin = start[starts][group]
    start, end = start - origin, end - origin
    before = _covered_before(end, starts, group)
    added = np.maximum(0, end - np.maximum(start, before))
    return step[starts], rank[starts], np.add.reduceat(added, starts) * NS


def _covered_before(end: Ints, starts: Ints, group: Ints) -> Ints:
    """For each span, the latest end among those before it in its group; 0 for the first."""
    width = max(int(end.max()), 0) + 1
    if width * (len(starts) + 1) < 2**63:
        shift = group * width  # groups lie end to end, so one running maximum serves all
        covered = np.maximum.accumulate(end + shift) - shift
    else:  # a span of years, as a clock that was never set gives
        covered = np.concatenate([np.maximum.accumulate(part) for part in np.split(end, starts[1:])])
    before = np.concatenate([[0], covered[:-1]])
    before[starts] = 0
    return before


def _slowest(per_rank: PerRank) -> Series:
    """The longest of a step's ranks; the weight is their number."""
    step, _, seconds = per_rank
    starts = stretch_starts(step)
    value = np.maximum.reduceat(seconds, starts) if len(starts) else seconds
    return {"step": step[starts], "value": value, "weight": np.diff([*starts, len(step)]).astype(np.float64)}


def _first(per_rank: PerRank) -> Series:
    """The first of a step's ranks."""
    step, _, seconds = per_rank
    starts = stretch_starts(step)
    return {"step": step[starts], "value": seconds[starts], "weight": np.ones(len(starts))}


def _step_total(work: Spans, run: Run) -> Series:
    """From the end of one step to the end of the next; without spans, from the steps table."""
    starts = stretch_starts(work.step)
    step, end = work.step[starts], np.maximum.reduceat(work.end, starts) if len(starts) else work.end
    if len(step) < 2:
        clocks = run.steps()
        step, end = clocks["step"], clocks["end_ns"]
    follows = np.diff(step) == 1
    return {"step": step[1:][follows], "value": np.diff(end)[follows] * NS, "weight": np.ones(int(follows.sum()))}


def _operations(spans: Spans) -> dict[str, Series]:
    """Seconds of each operation; frameworks' words for one operation count together."""
    operations = [canonical(name) for name in spans.names]
    distinct = sorted(set(operations))
    code = np.array([distinct.index(operation) for operation in operations] or [0], np.int64)[spans.name]
    metrics: dict[str, Series] = {}
    for i, operation in enumerate(distinct):
        metrics |= _operation(spans.only(code == i), operation)
    return metrics


def _operation(spans: Spans, operation: str) -> dict[str, Series]:
    seconds = np.asarray((spans.end - spans.start) * NS, np.float64)
    sums = _sums(spans.step, spans.rank, seconds)
    metrics = {f"time/{operation}": _first(sums)}
    if len(np.unique(spans.rank)) > 1:
        metrics[f"time/{operation}/slowest_rank"] = _slowest(sums)
    micro = spans.microbatch >= 0
    if micro.any():
        order = np.lexsort((seconds[micro], spans.step[micro]))
        step, stats = of_stretches(spans.step[micro][order], seconds[micro][order])
        for stat in ("mean", "std", "min", "max"):
            metrics[f"time/{operation}/microbatch/{stat}"] = {"step": step, "value": stats[stat], "weight": stats["n"]}
    return metrics


def _microbatches(spans: Spans) -> Series:
    """The number of distinct micro-batches of a step, on the rank that has most."""
    micro = spans.only(spans.microbatch >= 0)
    if not len(micro.step):
        return _slowest((micro.step, micro.rank, np.empty(0)))
    low, ranks, wide = int(micro.step.min()), int(micro.rank.max()) + 1, int(micro.microbatch.max()) + 1
    keys = np.unique(((micro.step - low) * ranks + micro.rank) * wide + micro.microbatch) // wide
    return _slowest(_sums(keys // ranks + low, keys % ranks, np.ones(len(keys))))


def _weight_sync(spans: Spans, trainer: NDArray[np.bool_]) -> dict[str, Series]:
    """Seconds from the first start to the last end of a weight update, on each side."""
    is_sync = [canonical(name).split("/")[0] in SYNC for name in spans.names]
    sync = np.array(is_sync or [False])[spans.name]
    metrics: dict[str, Series] = {}
    for side, on_side in (("trainer", trainer), ("inference", spans.on_lanes(INFERENCE))):
        updates = spans.only(sync & on_side)
        starts = stretch_starts(updates.step)
        if len(starts):
            length = (np.maximum.reduceat(updates.end, starts) - np.minimum.reduceat(updates.start, starts)) * NS
            series = {"step": updates.step[starts], "value": length, "weight": np.ones(len(starts))}
            metrics[f"time/weight_sync/{side}"] = series
    return metrics


def _per_token(metrics: dict[str, Series], run: Run) -> dict[str, Series]:
    """Seconds of an operation per token it works on, at steps whose samples give their tokens."""
    tokens = _tokens(run)
    per_token: dict[str, Series] = {}
    for operation in OPERATIONS:
        series, count = metrics.get(f"time/{operation.name}"), tokens.get(operation.tokens)
        if series is None or count is None:
            continue
        shared, at, where = np.intersect1d(series["step"], count["step"], return_indices=True)
        per_token[f"time_per_token/{operation.name}"] = {
            "step": shared,
            "value": series["value"][at] / count["value"][where],
            "weight": count["value"][where],
        }
    return per_token


def _tokens(run: Run) -> dict[str, Series]:
    """Tokens of each step: `response` (what was sampled), and `all` (with the prompts)."""
    table = run.rollups()
    fate, env = (pc.equal(table[name].cast(pa.string()), "") for name in ("fate", "env"))
    table = table.filter(pc.and_(fate, env))
    sums = {what: _token_sums(table, what) for what in ("prompt_tokens", "completion_tokens", "response_tokens")}
    response, prompt = sums["response_tokens"], sums["prompt_tokens"]
    response = response if len(response["step"]) else sums["completion_tokens"]
    both, at, where = np.intersect1d(response["step"], prompt["step"], return_indices=True)
    total = {"step": both, "value": response["value"][at] + prompt["value"][where]}
    return {word: counts for word, counts in (("response", response), ("all", total)) if len(counts["step"])}


def _token_sums(table: pa.Table, what: str) -> Series:
    rows = table.filter(pc.equal(table["what"].cast(pa.string()), what))
    step, sums = rows["step"].to_numpy(), rows["n"].to_numpy() * rows["mean"].to_numpy()
    order = np.argsort(step, kind="stable")
    return {"step": step[order], "value": sums[order]}
