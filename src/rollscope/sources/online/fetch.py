"""`rollscope import wandb://...`: store the runs at an address; again, only what is new."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rollscope.errors import RollscopeError
from rollscope.sources import Mark, Points, Records, RunStart, Skipped
from rollscope.sources.intake.report import Report
from rollscope.sources.intake.target import Target

from . import wandb
from .address import Address

Progress = Callable[[Path, int, int], None]
Ask = Callable[[], Any]  # for a run


def fetch(addresses: list[Address], root: Path, progress: Progress, report: Report) -> None:
    """Fetch every run at the addresses. One that fails is reported, and the others go on."""
    for address in addresses:
        try:
            for id, ask in wandb.runs(address):
                _one(id, ask, address, root, progress, report)
        except RollscopeError:
            raise
        except Exception as error:  # the library's own, and those of the network
            why = f"W&B answered: {_line(error)}. Log in with `wandb login`, check the address, and import again"
            report.skipped.append(Skipped(why, Path(str(address))))


def _one(id: str, ask: Ask, address: Address, root: Path, progress: Progress, report: Report) -> None:
    try:
        run = ask()
        start = wandb.start(run, address)
    except Exception as error:  # somebody removed it, or its description cannot be read
        why = f"{id}: the run cannot be read ({_line(error)}). Check the address and the login, and import again"
        report.skipped.append(Skipped(why, Path(wandb.KIND)))
        return
    _run(run, start, root, progress, report)
    report.files[str(address)] = wandb.KIND


def _run(run: Any, start: RunStart, root: Path, progress: Progress, report: Report) -> None:
    path = Path(wandb.KIND)  # stands for the file of an import, however the run was addressed
    target = Target(root, start)
    cursor = target.cursor(path)
    files = target.folder / "files"
    try:
        report.skipped += wandb.fetch_files(run, files)
        for item in wandb.items(run, cursor if isinstance(cursor, dict) else {}, files):
            _put(item, target, path, progress, report)
    except Exception as error:
        target.undo()
        why = f"{run.id}: reading stopped ({_line(error)}); what came before is kept, and importing again goes on"
        report.skipped.append(Skipped(why, path))
    report.add(target)
    with contextlib.suppress(OSError):
        target.close()


def _put(item: Any, target: Target, path: Path, progress: Progress, report: Report) -> None:
    if isinstance(item, Points):
        target.write(item)
    elif isinstance(item, Records):
        report.skipped += [Skipped(why, path) for why in target.write_rows(item)]
    elif isinstance(item, Mark):
        target.commit(path, item.cursor)
        target.save()
        progress(path, item.done, item.total)
    elif isinstance(item, Skipped):
        report.skipped.append(item)


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(".")
