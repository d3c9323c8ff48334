"""What scanners said of samples, as numbers: `scan/<name>`, and 1 or 0 per word of a label.

The newest row of a sample and a name counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.store.tables import tables

MOST_LABELS = 20  # of a scanner that get a number of their own: the most frequent
COLUMNS = ("sample", "step", "split", "time_ns", "name", "value", "label")
Floats = NDArray[np.float64]
Rows = dict[str, NDArray[Any]]


def scans_of_step(run: Run, step: int, ids: Sequence[str]) -> dict[str, Floats]:
    """Name -> a number for each of these samples of a step, NaN where it has none."""
    if not run.has("scans"):
        return {}
    rows = _newest(arrow.numpy(run.rows_of_steps("scans", [step]), tables.types("scans")))
    position = {id: i for i, id in enumerate(ids)}
    at = np.array([position.get(sample, -1) for sample in rows["sample"]], np.int64)
    numbers: dict[str, Floats] = {}
    for name, (where, values) in named(rows).items():
        numbers[name] = np.full(len(ids), np.nan)
        inside = at[where] >= 0
        numbers[name][at[where][inside]] = values[inside]
    return numbers


def scans_by_sample(run: Run) -> dict[str, dict[str, float]]:
    """Sample -> name -> number, kept until the run changes."""
    return run.remember("scans by sample", lambda: _by_sample(run)) if run.has("scans") else {}


def _by_sample(run: Run) -> dict[str, dict[str, float]]:
    said: dict[str, dict[str, float]] = {}
    rows = newest_scans(run)
    for name, (where, values) in named(rows).items():
        for sample, value in zip(rows["sample"][where], values.tolist(), strict=True):
            said.setdefault(sample, {})[name] = value
    return said


def scans_of_samples(run: Run, steps: Mapping[str, int | None]) -> dict[str, dict[str, float | str]]:
    """Sample -> scanner -> the number or word it gave. `steps` has the samples with their steps."""
    said: dict[str, dict[str, float | str]] = {id: {} for id in steps}
    known = sorted({step for step in steps.values() if step is not None})
    if not known or not run.has("scans"):
        return said
    rows = _newest(arrow.numpy(run.rows_of_steps("scans", known), tables.types("scans")))
    for sample, name, value, label in zip(rows["sample"], rows["name"], rows["value"], rows["label"], strict=True):
        if sample in said and (label is not None or not np.isnan(value)):
            said[sample][str(name)] = value if label is None else label
    return said


def newest_scans(run: Run) -> Rows:
    """All rows that count, kept until the run changes."""
    return run.remember("scans", lambda: _newest(run.table("scans", COLUMNS)))


def named(rows: Rows) -> dict[str, tuple[NDArray[np.int64], Floats]]:
    """Name -> which rows speak of it, and their numbers. A label speaks of all its words."""
    out: dict[str, tuple[NDArray[np.int64], Floats]] = {}
    names = np.array([str(name) for name in rows["name"]], object)
    for name in dict.fromkeys(names.tolist()):
        where = np.flatnonzero(names == name)
        values = rows["value"][where].astype(np.float64)
        numeric = ~np.isnan(values)
        if numeric.any():
            out[f"scan/{name}"] = (where[numeric], values[numeric])
        labels = rows["label"][where]
        words = np.array([label is not None for label in labels], bool)
        for word, _ in Counter(labels[words].tolist()).most_common(MOST_LABELS):
            out[f"scan/{name}/{word}"] = (where[words], (labels[words] == word).astype(np.float64))
    return out


def _newest(rows: Rows) -> Rows:
    order = np.argsort(rows["time_ns"], kind="stable")
    of_samples = [i for i in order.tolist() if rows["sample"][i] is not None]  # the others are of whole steps
    last = {(rows["sample"][i], rows["name"][i]): i for i in of_samples}
    keep = np.sort(np.fromiter(last.values(), np.int64, len(last)))
    return {name: values[keep] for name, values in rows.items()}
