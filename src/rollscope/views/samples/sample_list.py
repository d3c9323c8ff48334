"""Samples as rows with previews: of a step or a run, and the best, median and worst of a step."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.store.run import Run
from rollscope.store.table_reader import Columns
from rollscope.strict_json import Number
from rollscope.views import nullable

from .behind import TRAINING, behind
from .sample_steps import newest_scored, newest_until, steps

PREVIEW_CHARACTERS = 400
COLUMNS = (
    *("id", "group", "task", "env", "step", "reward", "score", "advantage", "completion_tokens"),
    *("stop_reason", "trained", "discard_reason", "prompt", "completion"),
)
TEXTS = ("id", "group", "task", "env", "stop_reason", "discard_reason")
PREVIEWS = ("prompt", "completion")
NUMBERS = ("reward", "score", "advantage")
Order = Literal["worst", "best", "longest", "newest"]
ORDERS: dict[Order, str] = {
    "worst": "reward ASC NULLS LAST",
    "best": "reward DESC NULLS LAST",
    "longest": "completion_tokens DESC NULLS LAST",
    "newest": "time_ns DESC",
}


class SampleRow(TypedDict):
    """A sample without its text; previews are the first characters."""

    id: str
    group: str
    task: str
    env: str
    step: int | None
    reward: Number
    score: Number
    advantage: Number
    tokens: int | None
    stop_reason: str
    trained: bool | None
    discard_reason: str
    prompt: str
    completion: str


class SampleList(TypedDict):
    samples: list[SampleRow]
    total: int


class PickedSample(TypedDict):
    label: str
    sample: SampleRow


def sample_list(run: Run, step: int | None, order: Order, limit: int, metric: str = "") -> SampleList:
    """The first `limit` samples of a step, or of the run, and how many there are.

    With a metric and a step, those behind it: of an evaluation, or of training.
    """
    which = behind(run, metric, step) if metric and step is not None else {"step": step}
    columns = run.samples(order_by=ORDERS[order], limit=limit, columns=list(COLUMNS), **which)
    total = len(run.samples(columns=["id"], **which)["id"])
    return {"samples": _rows(columns), "total": total}


def best_median_worst(run: Run, step: int | None, env: str = "") -> tuple[int | None, list[PickedSample]]:
    """Three samples of a step, or of the last before it that has samples; None: the newest step.

    With `env`, they are those of an environment.

    The newest step counts only once a sample in it has a reward, if any step has one.
    """
    at = newest_until(run, step)
    if at is not None and step is None:
        at = newest_scored(run) or at
    if at is None and (len(steps(run)) or not run.has("samples")):
        return None, []
    columns, order = list(COLUMNS), ORDERS["best"]  # if no sample names a step, they are of the whole run
    rows = _rows(run.samples(step=at, columns=columns, order_by=order, where=TRAINING))
    rows = rows or _rows(run.samples(step=at, columns=columns, order_by=order))
    rows = [row for row in rows if not env or row["env"] == env]
    rows = [row for row in rows if isinstance(row["reward"], float)] or rows
    labels = {"Best": 0, "Median": len(rows) // 2, "Worst": len(rows) - 1}
    if len(rows) <= 2:
        labels = dict([("Best", 0), ("Worst", len(rows) - 1)][: len(rows)])
    return at, [{"label": label, "sample": rows[i]} for label, i in labels.items()]


def _rows(columns: Columns) -> list[SampleRow]:
    return [_row({name: columns[name][i] for name in COLUMNS}) for i in range(len(columns["id"]))]


def _row(cells: dict[str, Any]) -> SampleRow:
    return {
        **{name: str(cells[name] or "") for name in TEXTS},  # type: ignore[typeddict-item]
        **{name: str(cells[name] or "")[:PREVIEW_CHARACTERS] for name in PREVIEWS},
        "step": nullable.integer(cells["step"]),
        **{name: nullable.number(cells[name]) for name in NUMBERS},
        "tokens": nullable.integer(cells["completion_tokens"]),
        "trained": None if cells["trained"] is None else bool(cells["trained"]),
    }
