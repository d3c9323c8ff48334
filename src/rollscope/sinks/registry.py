"""The sinks by name. An explicit table, because importing wandb must be asked for.

`make(name, info, dialect)` opens one. `info` holds the facts of the run, under the names of the `runs` table (`id`, `name`,
`project`, `group`, `tags`, `config`), plus `dir`, the run's folder, and `writer`, this process; any of them may be missing.
What a library needs beyond that is a keyword (`port=` for prometheus, `path=` for jsonl).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from rollscope.errors import BadInput, MissingExtra, nearest

from . import Sink

SINKS = {
    "jsonl": "rollscope.sinks.jsonl:JsonlSink",
    "console": "rollscope.sinks.console:ConsoleSink",
    "tensorboard": "rollscope.sinks.tensorboard:TensorBoardSink",
    "wandb": "rollscope.sinks.wandb:WandbSink",
    "swanlab": "rollscope.sinks.swanlab:SwanLabSink",
    "trackio": "rollscope.sinks.trackio:TrackioSink",
    "mlflow": "rollscope.sinks.mlflow:MlflowSink",
    "prometheus": "rollscope.sinks.prometheus:PrometheusSink",
}

PACKAGES = {
    "console": "rich",
    "mlflow": "mlflow-skinny",
    "prometheus": "prometheus-client",
}  # where the package is not called like the sink


def make(name: str, info: Mapping[str, Any], dialect: str | None = None, **options: Any) -> Sink:
    if name not in SINKS:
        raise BadInput(
            f"no sink is called {name!r}; there are {', '.join(SINKS)} (and the store, which is always there).{nearest(name, SINKS)}"
        )
    module, _, cls = SINKS[name].partition(":")
    try:
        sink: Sink = getattr(importlib.import_module(module), cls)(info, dialect=dialect, **options)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rollscope"):
            raise
        raise MissingExtra(PACKAGES.get(name, name), name, f"the {name} sink") from error
    return sink
