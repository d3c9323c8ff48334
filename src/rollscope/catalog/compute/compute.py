"""`rs.compute(batch)`: every metric whose inputs are present, as partials under canonical names.

`batch.py` reads the mapping and `plan.py` plans for its keys. Token metrics run over blocks that
fit a cache (`block.py`). Metrics of one value per sample run at the end, on the whole batch
(`per_sample.py`). Tensors on a device stay there; between the two halves, all numbers made from
them come to the host in one transfer.

NaN follows one law. A NaN token inside the mask is a broken number: every metric that cannot do
without that array is NaN, shares made by comparison too. A NaN sample has no value: it is left out
of the weight, and `weight` beside samples/generated says how many were. No metric is finite
because its inputs are NaN; counts of samples count them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from rollscope.catalog.partials import ops
from rollscope.catalog.partials.distribution import Summary
from rollscope.catalog.partials.partial import Partial

from .batch import Batch, Problems, read
from .block import SMALL, Block, spans, warm_heap
from .layout import Packed, PerSample, Ragged
from .outcome import Results, call, finished, given, merge, spelled, spoiled
from .per_sample import Samples, sample_metrics
from .plan import Given, Plan, plan_for, token_axes


def compute(
    batch: Mapping[str, Any],
    strict: bool = True,
    problems: list[str] | None = None,
    names: Collection[str] | None = None,
) -> dict[str, Partial]:
    """Compute all metrics that the batch supports: `{canonical name: partial}`.

    With `strict`, an unknown key or a wrong shape raises BadBatch. Otherwise the key is left out
    and a sentence is added to `problems`. `names` selects entries.
    """
    return _compute(batch, None if strict else problems if problems is not None else [], names)


def _compute(
    batch: Mapping[str, Any], problems: Problems, names: Collection[str] | None, keep_torch: bool = False
) -> dict[str, Partial]:
    from rollscope.catalog import families  # noqa: F401  # fills METRICS; keeps the import light

    known = read(batch, problems, keep_torch)
    plan = plan_for(_given(known), None if names is None else frozenset(names))
    with np.errstate(all="ignore"):
        early = Samples(known.samples, known.steps, {})
        blocks, rows, nans = _walk(known, plan, early, problems)
        samples, steps, blocks, rows, nans = _to_host(known, blocks, rows, nans)
        broken = _broken(plan, nans)
        results = spoiled(_merged(blocks), broken)
        per_sample = {name: t.values for name, t in known.tokens.items() if isinstance(t, PerSample)}
        of_samples = Samples(per_sample | samples, steps, _joined(rows))
        results |= spoiled(sample_metrics(plan.sample, of_samples, problems), broken)
        return finished(results)


def _broken(plan: Plan, nans: list[Results]) -> frozenset[str]:
    """The entries that read a token array with NaN inside its mask."""
    found = {name for block in nans for name, is_nan in block.items() if is_nan}
    return frozenset(entry for entry, tokens in plan.tokens.items() if not tokens.isdisjoint(found))


def _given(batch: Batch) -> Given:
    per_sample = frozenset(name for name, tokens in batch.tokens.items() if isinstance(tokens, PerSample))
    unpadded = all(isinstance(t, (Ragged, Packed, PerSample)) for t in batch.tokens.values())
    masks = {"mask", "action_mask"} & set(batch.tokens)
    axes = frozenset() if batch.widths is None else token_axes(batch.tokens, unpadded or not masks)
    return Given(
        frozenset(batch.tokens) - per_sample,
        per_sample,
        frozenset(batch.samples),
        frozenset(batch.steps),
        axes,
        one_mask=len(masks) < 2,
    )


def _walk(
    batch: Batch, plan: Plan, early: Samples, problems: Problems
) -> tuple[list[Results], list[Results], list[Results]]:
    """The results, row quantities and NaN flags of each block.

    On the host, results merge into the first.
    """
    blocks: list[Results] = []
    rows: list[Results] = []
    nans: list[Results] = []
    if batch.widths is None or not plan.block:
        return blocks, rows, nans
    exact = int(batch.widths.sum()) <= SMALL
    ahead = {name: early[name] for name in plan.early}
    if not exact:
        warm_heap()
    for start, stop in spans(batch):
        values = _Values(plan, Block(batch, start, stop, exact), ahead)
        results, row = _run(plan, values, problems)
        rows.append(row)
        nans.append(values.nans)
        if blocks and batch.device is None:
            merge(blocks[0], results)
        else:
            blocks.append(results)
    return blocks, rows, nans


class _Values(dict[str, Any]):
    """The values of a block by parameter name; a key of the batch is fetched on first use.

    `nans` says of each watched array whether it holds NaN, as a bool or a tensor of a device.
    """

    def __init__(self, plan: Plan, block: Block, ahead: Mapping[str, Any]) -> None:
        super().__init__({name: x if np.ndim(x) == 0 else x[block.start : block.stop] for name, x in ahead.items()})
        self.block = block
        self.watched = plan.watched
        self.nans: Results = {}

    def __missing__(self, name: str) -> Any:
        value = self[name] = self.block[name]
        if name in self.watched and name not in self.nans:
            self.nans[name] = ops.has_nan(value)
        return value


def _run(plan: Plan, values: _Values, problems: Problems) -> tuple[Results, Results]:
    results: Results = {}
    absent: set[str] = set()  # derived quantities that turned out to be None
    for step in plan.block:
        arguments: dict[str, Any] | None
        if step.direct is not None and problems is None and not absent:
            outcome = step.direct(*[values[name] for name in step.names])
        else:
            arguments = {parameter: values[name] for parameter, name in step.arguments}
            if not absent.isdisjoint(step.reads):
                arguments = given(step.function, arguments)
            outcome = None if arguments is None else call(step.function, arguments, step.name, problems)
        if step.entry is None:
            values[step.name] = outcome
            if outcome is None:
                absent.add(step.name)
        elif isinstance(outcome, Partial):
            results[step.name] = outcome
        else:
            results |= spelled(step.entry, outcome)
        arguments = outcome = None  # frees arrays, so that the next one takes their place in the cache
        for name in step.free:
            del values[name]
    return results, {name: values[name] for name in plan.rows}


def _merged(blocks: list[Results]) -> Results:
    for results in blocks[1:]:
        merge(blocks[0], results)
    return blocks[0] if blocks else {}


def _joined(rows: list[Results]) -> dict[str, Any]:
    if not rows:
        return {}
    return {
        name: None if any(row[name] is None for row in rows) else np.concatenate([row[name] for row in rows])
        for name in rows[0]
    }


def _to_host(
    batch: Batch, blocks: list[Results], rows: list[Results], nans: list[Results]
) -> tuple[dict[str, Any], dict[str, Any], list[Results], list[Results], list[Results]]:
    """Copy all tensors to the host in one transfer."""
    tensors: list[Any] = []
    values = (batch.samples, batch.steps, blocks, rows, nans)
    _visit(values, tensors.append)
    if not tensors:
        return values
    torch = sys.modules["torch"]
    device = next((t.device for t in tensors if t.device.type != "cpu"), tensors[0].device)
    flat = torch.cat([t.reshape(-1).to(device, torch.float64) for t in tensors]).cpu().numpy()
    ends = np.cumsum([t.numel() for t in tensors])
    arrays = iter([flat[end - t.numel() : end].reshape(tuple(t.shape)) for t, end in zip(tensors, ends, strict=True)])
    on_host: tuple[Any, Any, Any, Any, Any] = _visit(values, lambda _: next(arrays))
    return on_host


def _visit(x: Any, act: Callable[[Any], Any]) -> Any:
    """Rebuild nested results with `act` applied to each tensor, in one fixed order."""
    if ops.is_torch(x):
        y = act(x)
        return float(y) if isinstance(y, np.ndarray) and y.ndim == 0 else y
    if isinstance(x, dict):
        return {name: _visit(value, act) for name, value in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(_visit(value, act) for value in x)
    if isinstance(x, Summary):
        return Summary(*(_visit(part, act) for part in (x.moments, x.ends, x.counts, x.values)))
    if isinstance(x, Partial):
        return type(x).of_state(_visit(x.state(), act))
    return x
