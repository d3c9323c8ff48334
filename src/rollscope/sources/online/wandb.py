"""A run of W&B's server as items: the whole history, the configuration, tables and files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.errors import MissingExtra
from rollscope.sources import Item, Mark, Records, RunStart, Skipped
from rollscope.sources.files.inside import inside
from rollscope.sources.intake.gather import Gather, number, run_id, whole
from rollscope.sources.intake.guess import origin
from rollscope.sources.intake.tables import samples
from rollscope.sources.wandb import AXES

from .address import Address

KIND = "wandb online"
PAGE = 1000  # steps that are asked for at once, and rows between two marks
ENDED = {"crashed": "crashed", "failed": "crashed", "killed": "killed"}  # W&B's words for how a run ended
LARGEST = 100_000_000  # bytes of a file that is fetched


def runs(address: Address) -> Iterator[Any]:
    """The runs at an address, each with everything that is known about it."""
    try:
        import wandb
    except ImportError:
        raise MissingExtra("wandb", "wandb", "reading wandb:// addresses") from None
    api, project = wandb.Api(), f"{address.entity}/{address.project}"
    ids = [address.run] if address.run else [run.id for run in api.runs(project)]
    for id in ids:
        yield api.run(f"{project}/{id}")


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


def items(run: Any, since: int, folder: Path) -> Iterator[Item]:
    """The history from a step on. `folder` holds the run's files."""
    path, last = Path(str(run.id)), whole(run.lastHistoryStep) or 0
    gather, generated, at = Gather(path), list[dict[str, Any]](), since
    if not since and run.notes:
        yield Records("notes", [{"text": str(run.notes), "kind": "note"}])
    for count, row in enumerate(run.scan_history(page_size=PAGE, min_step=since), 1):
        at = max(at, (whole(row.get("_step")) or 0) + 1)
        generated += _take(row, gather, folder)
        if count % PAGE == 0:
            yield from _flush(gather, generated)
            yield Mark({"step": at}, at, last)
    yield from _flush(gather, generated)
    yield from gather.skipped()
    yield Mark({"step": at}, at, last)


def _take(row: dict[str, Any], gather: Gather, folder: Path) -> list[dict[str, Any]]:
    """Add the numbers of a row; return the samples of the tables in it."""
    row = {name: value for name, value in row.items() if name != "_runtime"}
    time_ns = round((number(row.pop("_timestamp", None)) or 0) * 1e9)
    step = whole(row.pop("_step", None)) or 0
    axis = next((name for name in AXES if number(row.get(name)) is not None), None)
    at = step if axis is None else whole(row[axis]) or 0
    numbers: dict[str, Any] = {}
    found: list[dict[str, Any]] = []
    for name, value in flat(row):
        table = _table(name, value, folder, at, time_ns)
        found += table
        if not table:
            numbers[name] = value
    gather.add(at, time_ns, dict(sorted(numbers.items())))
    return found


def flat(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a row. Media are objects with a type; other objects are nested values."""
    for name, value in row.items():
        if isinstance(value, Mapping) and "_type" not in value:
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _table(name: str, value: Any, folder: Path, step: int, time_ns: int) -> list[dict[str, Any]]:
    """The samples of a table; nothing for anything else, or if its file is damaged or missing."""
    if not isinstance(value, Mapping) or not str(value.get("_type")).endswith("table-file"):
        return []
    file = inside(folder, str(value.get("path")))
    try:
        table = json.loads(file.read_text(encoding="utf-8")) if file is not None else {}
        return list(samples(table["columns"], table["data"], f"{name}/{step}", step, time_ns))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _flush(gather: Gather, generated: list[dict[str, Any]]) -> Iterator[Item]:
    yield from gather.points()
    if generated:
        yield Records("samples", list(generated))
        generated.clear()


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
