"""MLflow, with its own settings (`MLFLOW_TRACKING_URI`, else a SQLite file in the run's folder).

Metrics go in batches with their step and time, so steps may come in any order. MLflow allows fewer
characters in names: `@` becomes `_at_`, any other that it refuses becomes `_`. Its SQL store keeps
NaN, and turns an infinity into the largest double. Samples are one JSON artifact per step.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Metric, Param

from . import Row
from .numbers import present, speakable
from .table import COLUMNS, by_step

BATCH = 1000  # MLflow's limit for one call
PARAMS = 100  # the same for parameters
PARAM_CHARACTERS = 6000  # MLflow's limit for one value


class MlflowSink:
    """Writes one MLflow run."""

    def __init__(self, info: Mapping[str, Any], dialect: str | None = None, uri: str | None = None) -> None:
        self._dialect = dialect
        folder = Path(info.get("dir") or ".").absolute()
        folder.mkdir(parents=True, exist_ok=True)
        uri = uri or os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{folder / 'mlflow.db'}"
        self._client: Any = MlflowClient(uri)
        experiment = self._experiment(str(info.get("project") or "rollscope"), folder)
        run_name = str(info.get("name") or info.get("id") or "run")
        self.run_id: str = self._client.create_run(experiment, run_name=run_name).info.run_id
        params = [Param(key, value[:PARAM_CHARACTERS]) for key, value in flat(info.get("config") or {})]
        for start in range(0, len(params), PARAMS):
            self._client.log_batch(self.run_id, params=params[start : start + PARAMS])

    def _experiment(self, name: str, folder: Path) -> str:
        experiment = self._client.get_experiment_by_name(name)
        if experiment:
            return str(experiment.experiment_id)
        return str(self._client.create_experiment(name, artifact_location=str(folder / "mlflow-artifacts")))

    def write(self, rows: Sequence[Row]) -> None:
        if self._client is None:
            raise RuntimeError("the mlflow sink was closed")
        metrics = [
            Metric(spelled(name), float(value), row.time_ns // 1_000_000, row.step or 0)
            for row in rows
            if row.table == "metrics"
            for name, value in present(row.data, self._dialect).items()
        ]
        for start in range(0, len(metrics), BATCH):
            self._client.log_batch(self.run_id, metrics=metrics[start : start + BATCH])
        for step, table in by_step(rows):
            self._client.log_dict(self.run_id, {"columns": list(COLUMNS), "data": table}, f"samples/{step}.json")

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.set_terminated(self.run_id)


def spelled(name: str) -> str:
    """A metric's name in the characters that MLflow allows."""
    return re.sub(r"[^\w\-. :/]", "_", name.replace("@", "_at_"))


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """A nested configuration as (`a/b`, text) pairs."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}/")
        else:
            yield spelled(f"{prefix}{key}"), str(speakable(value))
