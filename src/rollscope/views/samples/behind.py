"""Which samples of a step are behind a metric: an evaluation's own, or those of training."""

from __future__ import annotations

from typing import Any

from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning, meaning

TRAINING = "split IS NULL OR split <> 'eval'"
EVALUATION = "split = 'eval'"
SETS = ("eval/", "bench/", "val-core/", "val-aux/")  # names that an evaluation writes


def behind(run: Run, metric: str, step: int) -> dict[str, Any]:
    """The arguments of `run.samples` that select them."""
    m = meaning(metric, run.facts.get("framework"))
    if not (m.evaluation or m.name.startswith(SETS)):
        return {"step": step, "where": TRAINING}
    ids = _evaluated(run, _set(m), step)
    return {"ids": ids} if ids else {"step": step, "where": EVALUATION}


def _set(m: Meaning) -> str:
    bindings = dict(m.match.bindings or {}) if m.match else {}
    return str(bindings.get("set", "")) or [*m.name.split("/"), ""][1]


def _evaluated(run: Run, name: str, step: int) -> list[str]:
    """Ids of the samples that the rows of an evaluation name."""
    columns = run.evals()
    rows = zip(columns["set"], columns["step"], columns["sample"], strict=True)
    return [str(sample) for row_set, at, sample in rows if row_set == name and at == step and sample]
