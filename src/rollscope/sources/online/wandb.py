"""A run of W&B's server as items: history, configuration, system metrics, tables and files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from rollscope.errors import MissingExtra
from rollscope.sources import Item, Mark, Records, RunStart, Skipped
from rollscope.sources.capture.axes import Axes
from rollscope.sources.files.inside import inside
from rollscope.sources.intake.gather import ByClock, number, run_id, whole
from rollscope.sources.intake.grown import Grown
from rollscope.sources.intake.guess import origin
from rollscope.sources.intake.tables import samples

from .address import Address

KIND = "wandb online"
PAGE = 1000  # steps that are asked for at once, and rows between two marks
ENDED = {"crashed": "crashed", "failed": "crashed", "killed": "killed"}  # W&B's words for how a run ended
LARGEST = 100_000_000  # bytes of a file that is fetched
ARTIFACTS = 1_000  # of a run that are listed
READINGS = 10_000  # of the machines that are asked for; W&B thins a longer run


def runs(address: Address) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The runs at an address: the id of each, and how to ask for all that is known about it."""
    try:
        import wandb
    except ImportError:
        raise MissingExtra("wandb", "wandb", "reading wandb:// addresses") from None
    api, project = wandb.Api(), f"{address.entity}/{address.project}"
    ids = [address.run] if address.run else [run.id for run in api.runs(project)]
    for id in ids:
        yield id, partial(api.run, f"{project}/{id}")


def start(run: Any, address: Address) -> RunStart:
    facts = {
        "name": run.name or run.id,
        "project": address.project,
        "group": getattr(run, "group", None) or None,
        "tags": list(run.tags or ()) or None,
        "config": {key: value for key, value in run.config.items() if key != "_wandb"} or None,
        "state": ENDED.get(str(run.state), "finished"),
    }
    id = run_id(run.name or run.id, "wandb", address.entity, address.project, run.id)
    return RunStart(id=id, kind=KIND, facts={**facts, **origin(_names(run), facts["config"])})


def _names(run: Any) -> set[str]:
    """The names in the summary: every name that was logged."""
    return {str(name) for name in list(run.summary.keys())}


def items(run: Any, cursor: Mapping[str, Any], folder: Path) -> Iterator[Item]:
    """What is new since a cursor. `folder` holds the run's files."""
    since, last = int(cursor.get("step", 0)), whole(run.lastHistoryStep) or 0
    rows, at = _Rows(run, cursor, folder), since
    if not since and run.notes:
        yield Records("notes", [{"text": str(run.notes), "kind": "note"}])
    for count, row in enumerate(run.scan_history(page_size=PAGE, min_step=since), 1):
        at = max(at, (whole(row.get("_step")) or 0) + 1)
        rows.take(row)
        if count % PAGE == 0:
            yield from rows.flush()
            yield Mark({**cursor, "step": at, **rows.state}, at, last)
    yield from rows.flush()
    yield from rows.skipped()
    yield Mark({**cursor, "step": at, **rows.state}, at, last)
    yield from _beside(run, {**cursor, "step": at, **rows.state})


def _beside(run: Any, cursor: dict[str, Any]) -> Iterator[Item]:
    """What is new beside the history. A server that cannot tell of it costs no history."""
    for what, read in (("system metrics", _readings), ("artifacts", _artifacts)):
        try:
            new, told = read(run, cursor)
        except Exception as error:  # the library's own, and those of the network
            yield Skipped(f"the {what} could not be read ({str(error)[:200]})", Path(str(run.id)))
            continue
        if new.rows:
            cursor |= told
            yield new
            yield Mark(dict(cursor), cursor["step"], cursor["step"])


class _Rows:
    """Rows of a history, each value at the step of its own axis."""

    def __init__(self, run: Any, cursor: Mapping[str, Any], folder: Path) -> None:
        self.axes = _axes(run)
        self.axes.last.update(cursor.get("axes", {}))
        self._grown = Grown()
        self._grown.restore(cursor)
        self._folder, self._numbers = folder, ByClock(Path(str(run.id)))
        self._generated: list[dict[str, Any]] = []

    @property
    def state(self) -> dict[str, Any]:
        """What the cursor keeps of the rows so far."""
        return {"axes": self.axes.last, **self._grown.state}

    def take(self, row: dict[str, Any]) -> None:
        """Keep the numbers of a row, and the samples of the tables in it."""
        row = {name: value for name, value in flat(row) if name != "_runtime"}
        time_ns = round((number(row.pop("_timestamp", None)) or 0) * 1e9)
        step = whole(row.pop("_step", None)) or 0
        for (at, clock), values in self.axes.place(row, step):
            tables = {name: self._table(name, value, at, time_ns) for name, value in values.items()}
            self._generated += [sample for table in tables.values() for sample in table or ()]
            numbers = {name: values[name] for name in sorted(values) if tables[name] is None}
            self._numbers.add(clock, at, time_ns, numbers)

    def _table(self, name: str, value: Any, step: int, time_ns: int) -> list[dict[str, Any]] | None:
        """The new samples of a table; None if it is none, or its file is damaged or missing."""
        if not isinstance(value, Mapping) or not str(value.get("_type")).endswith("table-file"):
            return None
        file = inside(self._folder, str(value.get("path")))
        try:
            table = json.loads(file.read_text(encoding="utf-8")) if file is not None else {}
            columns, data = table["columns"], table["data"]
            first = self._grown.first_new(name, columns, data)
            found = list(samples(columns, data[first:], f"{name}/{step}", step, time_ns, first))
            return found if found or first else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def flush(self) -> Iterator[Item]:
        yield from self._numbers.points()
        if self._generated:
            yield Records("samples", self._generated)
            self._generated = []

    def skipped(self) -> Iterator[Skipped]:
        yield from self._numbers.skipped()


def _axes(run: Any) -> Axes:
    """The axes of `define_metric`, as W&B keeps them: fields 1 to 5 of its messages, by number."""
    axes, about = Axes(), getattr(run, "rawconfig", {}).get("_wandb")
    axes.configure(getattr(run, "config", {}))
    defined = about.get("m") if isinstance(about, Mapping) else None
    metrics = [metric if isinstance(metric, Mapping) else {} for metric in defined] if isinstance(defined, list) else []
    for metric in metrics:
        index = whole(metric.get("5")) or 0
        axis = metrics[index - 1].get("1") if 0 < index <= len(metrics) else metric.get("4")
        if axis and (name := metric.get("1") or metric.get("2")):
            axes.define(str(name), str(axis))
    return axes


def _readings(run: Any, cursor: Mapping[str, Any]) -> tuple[Records, dict[str, Any]]:
    """Readings of the machines that are newer than those that were told."""
    told, found = int(cursor.get("told_ns", 0)), list[dict[str, Any]]()
    for row in run.history(samples=READINGS, stream="system", pandas=False):
        time_ns = round((number(row.get("_timestamp")) or 0) * 1e9)
        for name, value in flat(row):
            name = name.removeprefix("system.")
            if time_ns > told and not name.startswith("_") and (reading := number(value)) is not None:
                device = name.rpartition(".")[0] or "system"
                found.append({"time_ns": time_ns, "device": device, "name": name, "value": reading})
    return Records("host", found), {"told_ns": max((one["time_ns"] for one in found), default=told)}


def _artifacts(run: Any, cursor: Mapping[str, Any]) -> tuple[Records, dict[str, Any]]:
    """A note for each artifact that was not told of. Their files stay where they are."""
    told = [str(name) for name in cursor.get("artifacts", ())]
    new = [one for one in islice(run.logged_artifacts(), ARTIFACTS) if str(one.name) not in told]
    notes = [f"artifact {one.name} ({one.type}, {int(one.size or 0):,} bytes) stays at W&B" for one in new]
    rows = [{"text": text, "kind": "note"} for text in notes]
    return Records("notes", rows), {"artifacts": [*told, *(str(one.name) for one in new)]}


def flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a row. Media are objects with a type; other objects are nested values."""
    for name, value in row.items():
        if isinstance(value, Mapping) and "_type" not in value:
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def fetch_files(run: Any, folder: Path) -> Iterator[Skipped]:
    """Fetch the files of a run that are not here yet. A name is never a path out of the folder."""
    here = Path(str(run.id))
    for file in run.files():
        name, size = str(file.name), int(file.size or 0)
        target = folder / name
        if not target.resolve().is_relative_to(folder.resolve()) or "\\" in name or not name:
            yield Skipped(f"the file {name[:200]!r} would lie outside of the run's folder: not fetched", here)
        elif size > LARGEST:
            yield Skipped(f"the file {name[:200]!r} has {size:,} bytes, more than {LARGEST:,}: not fetched", here)
        elif not (target.is_file() and target.stat().st_size == size):
            folder.mkdir(parents=True, exist_ok=True)
            file.download(root=str(folder), replace=True)
