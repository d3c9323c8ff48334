"""`rs.compute(batch)`: every metric whose inputs are present, as partials under canonical names.

The mapping is read once (batch.py), a plan is made for the keys it has (plan.py), token metrics walk through cache-sized blocks (block.py), and
what reads one value per sample is computed at the end on the whole batch (whole.py). Tensors on a device stay there: every number
they give comes over in one transfer, between the two halves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from rollscope.catalog.partials import ops
from rollscope.catalog.partials.distribution import Summary
from rollscope.catalog.partials.partial import Partial
from rollscope.catalog.spec import METRICS

from .batch import Batch, Problems, read
from .block import SMALL, Block, spans, warm_heap
from .layout import Packed, PerSample, Ragged
from .outcome import Results, call, finished, given, merge, spelled
from .per_sample import Samples, sample_metrics
from .plan import Given, Plan, plan_for, token_axes


def compute(
    batch: Mapping[str, Any],
    strict: bool = True,
    problems: list[str] | None = None,
    names: Collection[str] | None = None,
) -> dict[str, Partial]:
    """All metrics the batch supports: `{canonical name: partial}`.

    `strict` raises BadBatch for a key or a shape that is not known; otherwise such keys are left out and said in `problems`. `names` keeps to some entries.
    """
    return _compute(batch, None if strict else problems if problems is not None else [], names)


def _compute(
    batch: Mapping[str, Any], problems: Problems, names: Collection[str] | None, keep_torch: bool = False
) -> dict[str, Partial]:
    from rollscope.catalog import families  # noqa: F401  # fills METRICS; not at import time, which must stay light

    known = read(batch, problems, keep_torch)
    plan = plan_for(_given(known), None if names is None else frozenset(names))
    with np.errstate(all="ignore"):
        early = Samples(known.samples, known.steps, {})
        found, rows = _walk(known, plan, early, problems)
        samples, steps, found, rows = _landed(known, found, rows)
        results = _merged(found)
        per_sample = {name: t.values for name, t in known.tokens.items() if isinstance(t, PerSample)}
        results |= sample_metrics(plan.sample, Samples(per_sample | samples, steps, _joined(rows)), problems)
        return finished(results)


def _given(batch: Batch) -> Given:
    per_sample = frozenset(name for name, tokens in batch.tokens.items() if isinstance(tokens, PerSample))
    has_tokens = batch.widths is not None
    every = has_tokens and all(isinstance(t, (Ragged, Packed, PerSample)) for t in batch.tokens.values())
    bare = has_tokens and not {"mask", "action_mask"} & set(batch.tokens)
    axes = token_axes(batch.tokens, every or bare) if has_tokens else frozenset()
    return Given(
        frozenset(batch.tokens) - per_sample,
        per_sample,
        frozenset(batch.samples),
        frozenset(batch.steps),
        axes,
        not {"mask", "action_mask"} <= set(batch.tokens),
    )


def _walk(batch: Batch, plan: Plan, early: Samples, problems: Problems) -> tuple[list[Results], list[Results]]:
    """Results and row quantities of each block. On the host a block is merged into the first as it comes."""
    found: list[Results] = []
    rows: list[Results] = []
    if batch.widths is None or not plan.block:
        return found, rows
    exact = int(batch.widths.sum()) <= SMALL
    ahead = {name: early[name] for name in plan.early}
    if not exact:
        warm_heap()
    for start, stop in spans(batch):
        results, row = _run(plan, Block(batch, start, stop, exact), ahead, problems)
        rows.append(row)
        if found and batch.device is None:
            merge(found[0], results)
        else:
            found.append(results)
    return found, rows


class _Values(dict[str, Any]):
    """Values of a block by parameter name; what the batch holds is fetched when it is first asked for."""

    def __init__(self, block: Block, ahead: Mapping[str, Any]) -> None:
        super().__init__({name: x if np.ndim(x) == 0 else x[block.start : block.stop] for name, x in ahead.items()})
        self.block = block

    def __missing__(self, name: str) -> Any:
        value = self[name] = self.block[name]
        return value


def _run(plan: Plan, block: Block, ahead: Mapping[str, Any], problems: Problems) -> tuple[Results, Results]:
    values = _Values(block, ahead)
    results: Results = {}
    absent: set[str] = set()  # quantities that turned out not to be had
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
        arguments = outcome = None  # nothing may outlive its last reader: the next array takes its place in the cache
        for name in step.free:
            del values[name]
    return results, {name: values[name] for name in plan.rows}


def _merged(found: list[Results]) -> Results:
    for more in found[1:]:
        merge(found[0], more)
    return found[0] if found else {}


def _joined(rows: list[Results]) -> dict[str, Any]:
    if not rows:
        return {}
    return {
        name: None if any(row[name] is None for row in rows) else np.concatenate([row[name] for row in rows])
        for name in rows[0]
    }


def _landed(
    batch: Batch, found: list[Results], rows: list[Results]
) -> tuple[dict[str, Any], dict[str, Any], list[Results], list[Results]]:
    """Everything that is still on a device, brought over in one transfer."""
    waiting: list[Any] = []
    everything = (batch.samples, batch.steps, found, rows)
    _visit(everything, waiting.append)
    if not waiting:
        return everything
    torch = sys.modules["torch"]
    device = next((t.device for t in waiting if t.device.type != "cpu"), waiting[0].device)
    flat = torch.cat([t.reshape(-1).to(device, torch.float64) for t in waiting]).cpu().numpy()
    ends = np.cumsum([t.numel() for t in waiting])
    parts = iter([flat[end - t.numel() : end].reshape(tuple(t.shape)) for t, end in zip(waiting, ends, strict=True)])
    landed: tuple[Any, Any, Any, Any] = _visit(everything, lambda _: next(parts))
    return landed


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


def entry_names() -> tuple[str, ...]:
    """Canonical names of all computed entries."""
    from rollscope.catalog import families  # noqa: F401

    return tuple(name for name, entry in METRICS.items() if entry.define is not None)
