"""The columns of a run's samples that say how they ended, as arrays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store.run import Run
from rollscope.views.failures import STOPS, cause_of

COLUMNS = (
    *("id", "step", "split", "task", "writer", "error", "stop_reason", "reward", "trained", "discard_reason"),
    *("generate_seconds", "tool_seconds", "reward_seconds"),
)
MOST_CAUSES = 5  # with a colour of their own; the others are one
OTHERS = "other errors"
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ended:
    """How each training sample ended. `cause` is a position in `causes`, -1 if it did not fail."""

    id: list[str]
    step: Ints
    cause: Ints
    causes: list[str]
    task: Ints
    tasks: list[str]
    worker: Ints
    workers: list[str]
    zero: Bools  # failed, in the loss, with a reward of 0 or less
    masked: Bools  # failed, and not in the loss
    seconds: Floats
    grading: Floats

    @property
    def failed(self) -> Bools:
        return self.cause >= 0


def ended(run: Run) -> Ended:
    """Read the samples of a run. Evaluation samples are left out."""
    rows = run.samples_of_steps(COLUMNS, run.count_by_step("samples").steps.tolist())
    rows = rows.filter(pc.fill_null(pc.not_equal(rows["split"], "eval"), True))
    cause, causes = _causes(rows)
    trained = np.asarray(pc.fill_null(rows["trained"], False), bool)
    reward = _numbers(rows["reward"])
    task, tasks = _coded(rows["task"])
    worker, workers = _coded(rows["writer"])
    parts = [np.nan_to_num(_numbers(rows[f"{name}_seconds"])) for name in ("generate", "tool", "reward")]
    return Ended(
        id=rows["id"].to_pylist(),
        step=np.asarray(rows["step"], np.int64),
        cause=cause,
        causes=causes,
        task=task,
        tasks=tasks,
        worker=worker,
        workers=workers,
        zero=(cause >= 0) & trained & (reward <= 0),
        masked=(cause >= 0) & ~trained,
        seconds=np.sum(parts, axis=0),
        grading=_numbers(rows["reward_seconds"]),
    )


def _causes(rows: pa.Table) -> tuple[Ints, list[str]]:
    """The cause of each failure; errors that differ only in numbers, paths and quotes are one."""
    error = pc.fill_null(rows["error"], "")
    stop = pc.fill_null(pc.utf8_lower(rows["stop_reason"]), "")
    failed = np.asarray(pc.or_(pc.not_equal(error, ""), pc.is_in(stop, value_set=pa.array(STOPS))), bool)
    words = [e or s for e, s in zip(error.to_pylist(), stop.to_pylist(), strict=True)]
    named = {word: cause_of(word) for word in {word for word, bad in zip(words, failed, strict=True) if bad}}
    counts = Counter(named[word] for word, bad in zip(words, failed, strict=True) if bad)
    names = [name for name, _ in counts.most_common(MOST_CAUSES)]
    causes = [*names, OTHERS] if len(counts) > MOST_CAUSES else names
    place = {name: i for i, name in enumerate(causes)}
    other = len(causes) - 1
    codes = [place.get(named[word], other) if bad else -1 for word, bad in zip(words, failed, strict=True)]
    return np.asarray(codes, np.int64), causes


def _coded(column: Any) -> tuple[Ints, list[str]]:
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices, np.int64), [str(word) for word in encoded.dictionary.to_pylist()]


def _numbers(column: Any) -> Floats:
    return np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan), np.float64)
