"""The stand-in for Trackio: `import rollscope.trackio as trackio`."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from .artifact import Artifact
from .door import Door
from .media import Audio, Histogram, Html, Image, Text, Video
from .run import Run as Base
from .table import Table
from .trace import Trace

POSITIONS = ("project", "name", "group")
CALLS = ("log", "log_system", "log_gpu", "log_cpu", "alert", "save", "log_artifact")
NO_ACCOUNT = ("show", "sync", "freeze", "Api", "use_artifact", "delete_project", "import_csv", "import_tf_events")


class Run(Base):
    library = "trackio"

    def log_system(self, metrics: Any, **_: Any) -> None:
        self._captured.numbers({f"system/{name}": value for name, value in dict(metrics).items()}, self.step)

    def log_gpu(self, *_: Any, **__: Any) -> dict[str, Any]:
        """The machine is watched already."""
        return {}

    log_cpu = log_gpu


class Markdown(Text):
    suffix = ".md"


class AlertLevel:
    INFO, WARN, ERROR = "INFO", "WARN", "ERROR"


def start(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Run:
    wish = {**dict(zip(POSITIONS, args, strict=False)), **kwargs}
    wish["project"] = wish.get("project") or os.environ.get("TRACKIO_PROJECT")
    which: dict[str, Any] = {}
    if wish.get("resume") in ("allow", "must", True) and wish.get("name"):
        which = {"id": wish["name"], "resume": "allow"}
    return Run(False, wish.get("config"), **{key: wish.get(key) for key in POSITIONS}, **which)


def stand_in(module: ModuleType) -> None:
    kinds = (Table, Trace, Image, Video, Audio, Html, Markdown, Histogram, Artifact, AlertLevel, Run)
    Door("trackio", start, NO_ACCOUNT, again=True).fill(module, "0.43.0", CALLS, kinds)
