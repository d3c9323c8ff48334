"""The sinks by name.

The table is explicit, so that a tracker's library is imported only on request.
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

PACKAGES = {  # of sinks whose package has another name
    "console": "rich",
    "mlflow": "mlflow-skinny",
    "prometheus": "prometheus-client",
}


def make(name: str, info: Mapping[str, Any], dialect: str | None = None, **options: Any) -> Sink:
    """Open a sink.

    `info` holds the facts of the run under the names of the `runs` table (`id`, `name`, `project`,
    `group`, `tags`, `config`), plus `dir`, the run's folder, and `writer`, this process. Any of
    them may be missing. `options` are the sink's own (`port=` for prometheus, `path=` for jsonl).
    """
    if name not in SINKS:
        known = f"Sinks: {', '.join(SINKS)}. The store is always written."
        raise BadInput(f"no sink is called {name!r}.{nearest(name, SINKS)} {known}")
    module, _, cls = SINKS[name].partition(":")
    try:
        sink: Sink = getattr(importlib.import_module(module), cls)(info, dialect=dialect, **options)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("rollscope"):
            raise
        raise MissingExtra(PACKAGES.get(name, name), name, f"the {name} sink") from error
    return sink
