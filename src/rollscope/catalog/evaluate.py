"""`rs.evaluate`: evaluation rows to metrics, run by run, task by task, then over tasks.

A row is `{task, repeat, scores: {name: number}, answer?, turns?, tokens?, stop_reason?, seconds?, failed?}`. Every number is first one of a
task and then a mean over tasks, so a task counts once however often it was tried. A repeat that failed is outside `mean@n` and 0 in
`mean_strict@n`; how many failed, how many tasks there were and how many repeats are missing is always written beside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, SupportsFloat

import numpy as np

from rollscope.catalog.partials.moments import Moments, PopulationStd, Std
from rollscope.catalog.partials.partial import Max, Mean, Min, Partial, Ratio, Sum
from rollscope.catalog.partials.per_task import IntervalHigh, IntervalLow, Missing
from rollscope.errors import BadInput

from . import drawing
from .drawing import Floats

CORE = ("mean", "maj", "best")  # what veRL puts into val-core, when it is about the largest number of repeats
Values = dict[Hashable, tuple[float, float]]  # task -> (its number, how many repeats it stands on)


@dataclass(frozen=True, slots=True)
class _Row:
    """One repeat of a task."""

    repeat: float
    failed: bool
    scores: dict[str, float]
    answer: Hashable
    about: dict[str, float]  # turns, tokens, seconds, where they were said
    truncated: bool | None  # None without a stop reason


@dataclass(slots=True)
class _Task:
    """What one task brought: its rows in the order of their repeats."""

    rows: list[_Row] = field(default_factory=list)
    planned: int = 0

    @property
    def failed(self) -> int:
        return sum(row.failed for row in self.rows)

    @property
    def lost(self) -> int:
        """Failed repeats, and planned ones of which there is no row."""
        return self.failed + max(self.planned - len(self.rows), 0)

    @property
    def hopeless(self) -> bool:
        return self.lost == max(self.planned, len(self.rows))

    def scored(self, score: str) -> tuple[Floats, list[Hashable] | None]:
        """The scores of the repeats that have one, and their answers when every one of them has one."""
        rows = [row for row in self.rows if score in row.scores]
        answers = [row.answer for row in rows]
        return np.array([row.scores[score] for row in rows]), None if None in answers else answers


def evaluate(
    results: Iterable[Mapping[str, Any]],
    name: str,
    prefix: str = "eval",
    detailed: bool = False,
    *,
    repeats: int | Mapping[Any, int] | None = None,
    k: Sequence[int] | None = None,
) -> dict[str, Partial]:
    """Metrics of one evaluation set: `{"eval/gsm8k/accuracy/mean@4": partial, ...}`.

    `prefix="val"` sorts keys into val-core and val-aux as veRL does. `detailed` adds `/mean /std /std0 /min /max` over tasks beside each key.
    `repeats` is how many were planned (a number, or task -> number): then missing rows count as failed ones. `k` replaces 2, 4, 8, ..., n.

    >>> rows = [{"task": t, "scores": {"accuracy": a}} for t, both in enumerate([(0.8, 0.9), (0.6, 0.9), (0.95, 0.85)]) for a in both]
    >>> metrics = evaluate(rows, "dummy", detailed=True)
    >>> [round(metrics[f"eval/dummy/accuracy/mean@2{stat}"].value, 4) for stat in ("", "/std", "/std0")]
    [0.8333, 0.0764, 0.0624]
    """
    tasks = _tasks(results, repeats)
    place = _Places(prefix, name)
    out: dict[str, Partial] = {}
    for score in _score_names(tasks.values()):
        statistics = _statistics(tasks, score, None if k is None else sorted(set(k)))
        core = score == ("acc" if "acc" in _score_names(tasks.values()) else "reward")
        most = max((int(key.partition("@")[2]) for key in statistics), default=0)
        for key, values in statistics.items():
            where = place.score(score, key, core and key.startswith(CORE) and key.endswith(f"@{most}"))
            out |= _reduced(where, key, values, detailed)
    return out | _about(tasks, place)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a key goes: under the prefix and the set, and for `val` into veRL's two sections."""

    prefix: str
    name: str

    def score(self, score: str, key: str, core: bool) -> str:
        section = ("val-core" if core else "val-aux") if self.prefix == "val" else self.prefix
        return f"{section}/{self.name}/{score}/{key}"

    def set(self, key: str) -> str:
        return f"{'val-aux' if self.prefix == 'val' else self.prefix}/{self.name}/{key}"


def _tasks(results: Iterable[Mapping[str, Any]], repeats: int | Mapping[Any, int] | None) -> dict[Hashable, _Task]:
    tasks: dict[Hashable, _Task] = {}
    for number, row in enumerate(results):
        if not isinstance(row, Mapping) or "task" not in row:
            example = "{'task': 'q1', 'repeat': 0, 'scores': {'accuracy': 1.0}}"
            raise BadInput(
                f"evaluation row {number} is {row!r:.80}: expected a mapping with a 'task', such as {example}"
            )
        tasks.setdefault(_word(row["task"]), _Task()).rows.append(_row(number, row))
    if isinstance(repeats, Mapping):
        for task in repeats:
            tasks.setdefault(task, _Task())
    for task, found in tasks.items():
        found.rows.sort(
            key=lambda row: row.repeat
        )  # the bootstrap draws by position: the same answer for any order of arrival
        found.planned = repeats.get(task, 0) if isinstance(repeats, Mapping) else repeats or 0
    return tasks


def _row(number: int, row: Mapping[str, Any]) -> _Row:
    failed, stop, repeat = bool(row.get("failed")), row.get("stop_reason"), row.get("repeat")
    scores = (
        row.get("scores")
        if row.get("scores") is not None
        else {}
        if row.get("score") is None
        else {"score": row["score"]}
    )
    if not isinstance(scores, Mapping):
        raise BadInput(
            f"evaluation row {number} has scores {scores!r:.60}: expected name -> number, such as {{'accuracy': 1.0}}"
        )
    about = {name: row.get(name) for name in ("turns", "tokens", "seconds")}
    return _Row(
        repeat=float(repeat) if isinstance(repeat, SupportsFloat) else 0.0,
        failed=failed,
        scores={}
        if failed
        else {
            str(name): _number(number, f"the score {name!r}", value)
            for name, value in scores.items()
            if value is not None
        },
        answer=_word(row.get("answer")),
        about={
            name: float(len(x)) if isinstance(x, list | tuple) else _number(number, name, x)
            for name, x in about.items()
            if x is not None
        },
        truncated=None if stop is None else "length" in (stop if isinstance(stop, list | tuple) else [str(stop)]),
    )


def _number(row: int, what: str, value: Any) -> float:
    if isinstance(value, str | bytes) or not isinstance(value, SupportsFloat):
        raise BadInput(
            f"evaluation row {row} has {what} = {value!r:.60}: expected a number. What the model answered belongs into 'answer'"
        )
    return float(value)


def _word(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else repr(value)


def _score_names(tasks: Iterable[_Task]) -> list[str]:
    return list(dict.fromkeys(score for task in tasks for row in task.rows for score in row.scores))


def _statistics(tasks: Mapping[Hashable, _Task], score: str, asked: list[int] | None) -> dict[str, Values]:
    """Statistic -> task -> number. A task that never gave this score is in no statistic, unless all it did was fail."""
    out: dict[str, Values] = {}
    found = {task: data.scored(score) for task, data in tasks.items()}
    concerned = {
        task: (x, answers, tasks[task].lost) for task, (x, answers) in found.items() if x.size or tasks[task].hopeless
    }
    binary = all(set(x.tolist()) <= {0.0, 1.0} for x, _, _ in concerned.values())
    exact = asked or sorted({size for x, _, lost in concerned.values() for size in drawing.sizes(len(x) + lost)})

    def put(key: str, task: Hashable, value: float, weight: int) -> None:
        out.setdefault(key, {})[task] = (value, float(weight))

    for task, (x, answers, lost) in concerned.items():
        m, n = len(x), len(x) + lost
        if m:
            put(f"mean@{n}", task, float(x.mean()), m)
        put(f"mean_strict@{n}", task, float(x.sum()) / n, n)
        if m:
            put(f"std@{n}", task, float(x.std()), m)
        for size in exact:
            if m >= size:
                _exact(put, task, x, answers, size, binary)
        for size in asked or drawing.sizes(m):
            if m > 1:
                _bootstrap(put, task, x, answers, size)
        if binary and m:
            put("pass@1", task, float(x.mean()), m)
    return out


Put = Callable[[str, Hashable, float, int], None]


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


def _reduced(where: str, key: str, values: Values, detailed: bool) -> dict[str, Partial]:
    """The mean over tasks, and with `detailed` how they spread. Every partial merges over any split that keeps tasks whole."""
    numbers = np.array([value for value, _ in values.values()])
    out: dict[str, Partial] = {where: Mean.of(numbers)}
    if detailed:
        out |= {
            f"{where}/mean": Moments.of(numbers),
            f"{where}/std": Std.of(numbers),
            f"{where}/std0": PopulationStd.of(numbers),
            f"{where}/min": Min.of(numbers),
            f"{where}/max": Max.of(numbers),
        }
    if key.startswith("mean@") or (detailed and "_std@" not in key):
        out |= {f"{where}/ci_low": IntervalLow.of(values), f"{where}/ci_high": IntervalHigh.of(values)}
    return out


def _about(tasks: Mapping[Hashable, _Task], place: _Places) -> dict[str, Partial]:
    """What is true of the set whatever the score: how much of it there was, how much failed, what it cost."""
    rows = [row for task in tasks.values() for row in task.rows]
    shapes = Missing()
    for task in tasks.values():
        shapes += Missing(((float(len(task.rows)), float(task.planned), 1.0),))
    out: dict[str, Partial] = {
        place.set("tasks"): Sum(float(len(tasks)), float(len(tasks))),
        place.set("repeats"): Sum(float(len(rows)), float(len(rows))),
        place.set("failed/share"): Ratio(float(sum(row.failed for row in rows)), float(len(rows))),
        place.set("failed/tasks"): Ratio(
            float(sum(bool(t.rows) and t.failed == len(t.rows) for t in tasks.values())), float(len(tasks))
        ),
        place.set("repeats_missing"): shapes,
    }
    for column in ("turns", "tokens", "seconds"):
        out |= _spread(place.set(column), [row.about[column] for row in rows if column in row.about])
    if place.prefix == "val" and (turns := [row.about["turns"] for row in rows if "turns" in row.about]):
        out |= {
            f"val-aux/num_turns/{stat}": of(turns)
            for stat, of in (("mean", Moments.of), ("min", Min.of), ("max", Max.of))
        }
    if ends := [row.truncated for row in rows if row.truncated is not None]:
        out[place.set("truncated")] = Ratio(float(sum(ends)), float(len(ends)))
    if timed := [
        np.mean(s) for t in tasks.values() if (s := [row.about["seconds"] for row in t.rows if "seconds" in row.about])
    ]:
        out[place.set("seconds_per_run")] = Mean.of(np.array(timed))
    return out


def _spread(name: str, values: list[float]) -> dict[str, Partial]:
    if not values:
        return {}
    return {
        f"{name}/mean": Moments.of(values),
        f"{name}/std": Std.of(values),
        f"{name}/min": Min.of(values),
        f"{name}/max": Max.of(values),
    }
