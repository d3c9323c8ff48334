"""`rs.evaluate`: from evaluation rows to metrics, by task and then over tasks.

A row is a mapping `{task, repeat, scores: {name: number}, answer?, turns?, tokens?, stop_reason?,
seconds?, failed?}`. Every number is computed per task and then averaged over tasks, so a task
counts once however often it was tried. Several rows of one repeat are averaged first and count as
one repeat. A failed repeat is outside `mean@n` and counts as 0 in
`mean_strict@n`. The numbers of tasks, failures and missing repeats are always written, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollscope.catalog.partials.moments import Moments, PopulationStd, Std
from rollscope.catalog.partials.partial import Max, Mean, Min, Partial, Ratio, Sum
from rollscope.catalog.partials.per_task import IntervalHigh, IntervalLow, Missing

from . import drawing
from .drawing import Floats
from .evaluation_rows import Row, Task, tasks_of

CORE = ("mean", "maj", "best")  # statistics that veRL puts into val-core, for the most repeats
Values = dict[Hashable, tuple[float, float]]  # task -> (its number, how many repeats it stands on)


def evaluate(
    results: Iterable[Mapping[str, Any]],
    name: str,
    prefix: str = "eval",
    detailed: bool = False,
    *,
    repeats: int | Mapping[Any, int] | None = None,
    k: Sequence[int] | None = None,
) -> dict[str, Partial]:
    """Compute the metrics of one evaluation set: `{"eval/gsm8k/accuracy/mean@4": partial, ...}`.

    `prefix="val"` sorts keys into val-core and val-aux as veRL does. `detailed` adds
    `/mean /std /std0 /min /max` over tasks to each key. `repeats` is the planned number, or
    task -> number; missing rows then count as failed. `k` replaces 2, 4, 8, ..., n.

    >>> scores = [(0, 0.8), (0, 0.9), (1, 0.6), (1, 0.9), (2, 0.95), (2, 0.85)]
    >>> rows = [{"task": task, "scores": {"accuracy": score}} for task, score in scores]
    >>> metrics = evaluate(rows, "dummy", detailed=True)
    >>> keys = [f"eval/dummy/accuracy/mean@2{stat}" for stat in ("", "/std", "/std0")]
    >>> [round(metrics[key].value, 4) for key in keys]
    [0.8333, 0.0764, 0.0624]
    """
    tasks = tasks_of(results, repeats)
    keys = _Keys(prefix, name)
    metrics: dict[str, Partial] = {}
    scores = _score_names(tasks.values())
    for score in scores:
        statistics = _statistics(tasks, score, None if k is None else sorted(set(k)))
        core = score == ("acc" if "acc" in scores else "reward")
        most = max((int(word.partition("@")[2]) for word in statistics), default=0)
        for word, values in statistics.items():
            key = keys.of_score(score, word, core and word.startswith(CORE) and word.endswith(f"@{most}"))
            metrics |= _reduced(key, word, values, detailed)
    return metrics | _about(tasks, keys)


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys of a set: below the prefix, and for `val` in veRL's two sections."""

    prefix: str
    name: str

    def of_score(self, score: str, statistic: str, core: bool) -> str:
        section = ("val-core" if core else "val-aux") if self.prefix == "val" else self.prefix
        return f"{section}/{self.name}/{score}/{statistic}"

    def of_set(self, word: str) -> str:
        return f"{'val-aux' if self.prefix == 'val' else self.prefix}/{self.name}/{word}"


def _score_names(tasks: Iterable[Task]) -> list[str]:
    return list(dict.fromkeys(score for task in tasks for row in task.rows for score in row.scores))


def _statistics(tasks: Mapping[Hashable, Task], score: str, sizes: list[int] | None) -> dict[str, Values]:
    """Statistic -> task -> number.

    A task without this score is in no statistic, unless all its repeats were lost. `sizes` are the
    k to use; None means 2, 4, 8, ..., n.
    """
    statistics: dict[str, Values] = {}
    scored = {name: task.scored(score) for name, task in tasks.items()}
    scored = {name: pair for name, pair in scored.items() if pair[0].size or tasks[name].hopeless}
    binary = all(set(x.tolist()) <= {0.0, 1.0} for x, _ in scored.values())
    exact = sizes or sorted({k for name, (x, _) in scored.items() for k in drawing.sizes(len(x) + tasks[name].lost)})

    def put(statistic: str, task: Hashable, value: float, weight: int) -> None:
        statistics.setdefault(statistic, {})[task] = (value, float(weight))

    for name, (x, answers) in scored.items():
        _means(put, name, x, len(x) + tasks[name].lost)
        for k in exact:
            if len(x) >= k:
                _exact(put, name, x, answers, k, binary)
        for k in sizes or drawing.sizes(len(x)):
            if len(x) > 1:
                _bootstrap(put, name, x, answers, k)
        if binary and len(x):
            put("pass@1", name, float(x.mean()), len(x))
    return statistics


Put = Callable[[str, Hashable, float, int], None]  # statistic, task, value, weight


def _means(put: Put, task: Hashable, x: Floats, n: int) -> None:
    """The mean over the repeats with a score, over all n repeats, and the spread."""
    if len(x):
        put(f"mean@{n}", task, float(x.mean()), len(x))
    put(f"mean_strict@{n}", task, float(x.sum()) / n, n)
    if len(x):
        put(f"std@{n}", task, float(x.std()), len(x))


def _exact(put: Put, task: Hashable, x: Floats, answers: list[Hashable] | None, k: int, binary: bool) -> None:
    best = drawing.best(x, k)
    put(f"best@{k}", task, best, len(x))
    put(f"worst@{k}", task, drawing.worst(x, k), len(x))
    if binary and k > 1:
        put(f"pass@{k}", task, best, len(x))
    if answers is not None:
        put(f"maj@{k}", task, drawing.majority(x, answers, k), len(x))


def _bootstrap(put: Put, task: Hashable, x: Floats, answers: list[Hashable] | None, k: int) -> None:
    pairs = {"best_boot": drawing.best_boot(x, k), "worst_boot": drawing.worst_boot(x, k)}
    if answers is not None:
        pairs["maj_boot"] = drawing.majority_boot(x, answers, k)
    for word, (mean, std) in pairs.items():
        put(f"{word}@{k}", task, mean, len(x))
        put(f"{word}_std@{k}", task, std, len(x))


def _reduced(key: str, statistic: str, values: Values, detailed: bool) -> dict[str, Partial]:
    """The mean over tasks and its interval; with `detailed`, the spread over tasks, too.

    The partials merge over any split that does not divide a task.
    """
    numbers = np.array([value for value, _ in values.values()])
    metrics: dict[str, Partial] = {key: Mean.of(numbers)}
    if detailed:
        metrics |= {
            f"{key}/mean": Moments.of(numbers),
            f"{key}/std": Std.of(numbers),
            f"{key}/std0": PopulationStd.of(numbers),
            f"{key}/min": Min.of(numbers),
            f"{key}/max": Max.of(numbers),
        }
    if statistic.startswith("mean@") or (detailed and "_std@" not in statistic):
        metrics |= {f"{key}/ci_low": IntervalLow.of(values), f"{key}/ci_high": IntervalHigh.of(values)}
    return metrics


def _about(tasks: Mapping[Hashable, Task], keys: _Keys) -> dict[str, Partial]:
    """Metrics of the set that do not depend on a score: its size, its failures and its cost."""
    rows = [row for task in tasks.values() for row in task.rows]
    metrics = _counts(tasks, rows, keys)
    for column in ("turns", "tokens", "seconds"):
        metrics |= _spread(keys.of_set(column), [row.about[column] for row in rows if column in row.about])
    if keys.prefix == "val" and (turns := [row.about["turns"] for row in rows if "turns" in row.about]):
        metrics |= {
            "val-aux/num_turns/mean": Moments.of(turns),
            "val-aux/num_turns/min": Min.of(turns),
            "val-aux/num_turns/max": Max.of(turns),
        }
    if ends := [row.truncated for row in rows if row.truncated is not None]:
        metrics[keys.of_set("truncated")] = Ratio(float(sum(ends)), float(len(ends)))
    if seconds := _seconds_of_tasks(tasks):
        metrics[keys.of_set("seconds_per_run")] = Mean.of(np.array(seconds))
    return metrics


def _counts(tasks: Mapping[Hashable, Task], rows: list[Row], keys: _Keys) -> dict[str, Partial]:
    n, repeats = float(len(tasks)), float(len(rows))
    failed = sum(bool(task.rows) and task.failed == len(task.rows) for task in tasks.values())
    missing = Missing()
    for task in tasks.values():
        missing += Missing(((float(len(task.rows)), float(task.planned), 1.0),))
    return {
        keys.of_set("tasks"): Sum(n, n),
        keys.of_set("repeats"): Sum(repeats, repeats),
        keys.of_set("failed/share"): Ratio(float(sum(row.failed for row in rows)), repeats),
        keys.of_set("failed/tasks"): Ratio(float(failed), n),
        keys.of_set("repeats_missing"): missing,
    }


def _seconds_of_tasks(tasks: Mapping[Hashable, Task]) -> list[float]:
    """The mean seconds of each task that was timed."""
    timed = ([row.about["seconds"] for row in task.rows if "seconds" in row.about] for task in tasks.values())
    return [float(np.mean(seconds)) for seconds in timed if seconds]


def _spread(name: str, values: list[float]) -> dict[str, Partial]:
    if not values:
        return {}
    return {
        f"{name}/mean": Moments.of(values),
        f"{name}/std": Std.of(values),
        f"{name}/min": Min.of(values),
        f"{name}/max": Max.of(values),
    }
