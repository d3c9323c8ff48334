"""Steps that have samples, and the step that a page means when it asks for one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store.run import Run

from .coded import coded


def steps(run: Run) -> NDArray[np.int64]:
    """Steps that have samples, ascending."""
    return _steps(run)[0]


def stepless(run: Run) -> int:
    """How many samples name no step."""
    return _steps(run)[1]


def _steps(run: Run) -> tuple[NDArray[np.int64], int]:
    return run.remember("steps with samples", lambda: _read(run))


def _read(run: Run) -> tuple[NDArray[np.int64], int]:
    column = run.samples(columns=["step"], as_arrow=True)["step"]
    return np.sort(np.asarray(pc.unique(column.drop_null()), np.int64)), int(column.null_count)


def newest(run: Run) -> int | None:
    """The newest step with samples for training; if the run only evaluates, the newest with any."""
    return run.remember("newest step with samples", lambda: _newest(run))


def _newest(run: Run) -> int | None:
    rows = run.samples(columns=["step", "split"], as_arrow=True)
    training = rows.filter(pc.fill_null(pc.not_equal(rows["split"], "eval"), True))["step"]
    known = training if training.null_count < len(training) else rows["step"]
    return pc.max(known).as_py()  # type: ignore[no-any-return]


def near(run: Run, step: int | None) -> tuple[int | None, int | None, int | None]:
    """The step with samples that `step` means, and its neighbours that have samples.

    That is the step itself, else the last before it, else the first; for None it is the newest.
    """
    known = steps(run)
    if not len(known):
        return None, None, None
    wanted = newest(run) if step is None else step
    at = len(known) - 1 if wanted is None else max(0, int(np.searchsorted(known, wanted, "right")) - 1)
    before = int(known[at - 1]) if at else None
    after = int(known[at + 1]) if at + 1 < len(known) else None
    return int(known[at]), before, after


def newest_scored(run: Run) -> int | None:
    """The newest step with a sample that has a reward."""
    rows = run.samples(columns=["step", "reward"], as_arrow=True)
    return pc.max(rows.filter(_is_number(rows["reward"]))["step"]).as_py()  # type: ignore[no-any-return]


def newest_until(run: Run, step: int | None) -> int | None:
    """The newest step with samples, at or before `step` if it is given."""
    known = steps(run)
    known = known if step is None else known[known <= step]
    return int(known[-1]) if len(known) else None


def _is_number(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(pc.invert(pc.is_nan(column)), False)


def samples_of_tasks(run: Run) -> dict[str, str]:
    """Task -> the id of one of its samples, from which the page shows the prompt's words."""
    return run.remember("samples of tasks", lambda: _samples_of_tasks(run))


def _samples_of_tasks(run: Run) -> dict[str, str]:
    rows = run.samples(columns=["id", "task"], as_arrow=True)
    tasks, task_names = coded(rows, "task")
    codes, first = np.unique(tasks, return_index=True)
    ids, id_names = coded(rows.take(pa.array(first)), "id")
    return {task_names[code]: id_names[id] for code, id in zip(codes.tolist(), ids.tolist(), strict=True)}
