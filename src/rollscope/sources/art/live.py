"""What `model.log` gets, at the two places where ART writes it down.

ART writes a batch of trajectories into one file and the numbers of a step into a line of another.
We listen there: the trajectories are those of the file, and the line tells the numbers under the
names that ART gives them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rollscope.sources.intake.gather import whole
from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.values import by_split, numbers
from rollscope.sources.live.wrap import after

from .trajectory import sample

SECRET = ("inference_api_key",)
AXES = ("step", "training_step", "recorded_at")  # of a line, beside its numbers


class Recorder:
    """Records one model."""

    def __init__(self, model: Any, run: Any) -> None:
        self.run, self._model = run, model
        self._history = Path(model._get_output_dir()) / "history.jsonl"
        self._read = _size(self._history)  # what earlier trainings wrote is not ours
        self._batches: Counter[str] = Counter()

    def trajectories(self, groups: Any, split: str, number: str) -> None:
        """Record the groups of a batch. ART may log several batches of a split at one step."""
        name = f"{split}/{number}"
        self._batches[name] += 1
        batch = name if self._batches[name] == 1 else f"{name}.{self._batches[name]}"
        about = {"split": "train" if split == "train" else "eval", "tags": None if split == "train" else [split]}
        samples = [one for i, group in enumerate(groups) for one in _samples(group, f"{batch}/{i}")]
        self.run.log_samples([{**one, **about} for one in samples], step=int(number))

    def numbers(self) -> None:
        """Record the lines that were written since the last look."""
        with self._history.open("rb") as file:
            file.seek(self._read)
            lines = file.read()
        written = lines.rfind(b"\n") + 1  # what is behind it is still being written
        self._read += written
        for line in lines[:written].splitlines():
            self._line(line)

    @quiet
    def _line(self, line: bytes) -> None:
        row = json.loads(line)
        values = numbers({name: value for name, value in row.items() if name not in AXES})
        for split, some in by_split(values, _is_eval):
            self.run.log(some, step=whole(row["step"]), split=split)


def _is_eval(name: str) -> bool:
    return any(part in ("val", "test", "eval") for part in name.split("/")[:2])


def _samples(group: Any, place: str) -> list[dict[str, Any]]:
    """The trajectories of a group, and the rollouts that failed."""
    found = [{**sample(one, f"{place}/{i}"), "repeat": i} for i, one in enumerate(group.trajectories)]
    failed = [f"{error.type}: {error.message}" for error in group.exceptions]
    found += [{"id": f"{place}/failed/{i}", "error": error} for i, error in enumerate(failed)]
    return [{**one, "group": place} for one in found]


_recorders: dict[str, Recorder] = {}  # by the folder of the model


def attach(model: Any, run: Any, options: Mapping[str, Any]) -> Any:
    """Record a model, for as long as the process lives. Safe to call twice."""
    folder = os.path.abspath(model._get_output_dir())
    if folder not in _recorders:
        quiet(_begin)(model, folder, run, options)
    found = _recorders.get(folder)
    return found.run if found is not None else run


def _begin(model: Any, folder: str, run: Any, options: Mapping[str, Any]) -> None:
    if run is None:
        from rollscope.record.start import init

        config = {name: value for name, value in model.safe_model_dump().items() if name not in SECRET}
        facts = {"name": model.name, "project": model.project, "config": config}
        run = init(**{**facts, "framework": f"art@{version('openpipe-art')}", "shard": 0, "shards": 1, **options})
    _recorders[folder] = Recorder(model, run)
    _listen()


def _listen() -> None:
    """Listen to ART, once for all models."""
    import art.model as module

    if not hasattr(module, "_rollscope"):
        module._rollscope = True
        after(module, "write_trajectory_groups_parquet", _on_trajectories)
        after(module.Model, "_log_metrics", _on_numbers)


def _on_trajectories(_: None, groups: Any, path: Any) -> None:
    """ART names the file by split and step: `FOLDER/trajectories/train/0003.parquet`."""
    file = Path(os.path.abspath(path))
    recorder = _recorders.get(str(file.parents[2]))
    if recorder is not None:
        recorder.trajectories(groups, file.parent.name, file.stem)


def _on_numbers(_: None, model: Any, *__: Any) -> None:
    recorder = _recorders.get(os.path.abspath(model._get_output_dir()))
    if recorder is not None:
        recorder.numbers()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
