"""The stand-in for W&B: `import rollscope.wandb as wandb`."""

from __future__ import annotations

import contextlib
import os
import secrets
import string
import time
from types import ModuleType
from typing import Any

from rollscope.sources.live.quiet import print_once, quiet

from .anything import Anything, unsupported
from .artifact import Artifact
from .config import Config, settings
from .door import Door
from .media import Audio, Histogram, Html, Image, Plotly, Video
from .run import Run as Base
from .table import Table

POSITIONS = ("entity", "project", "dir", "id", "name", "notes", "tags", "config")  # of the arguments of init
VARIABLES = {  # argument of init -> the variable that stands for it
    "entity": "WANDB_ENTITY",
    "project": "WANDB_PROJECT",
    "dir": "WANDB_DIR",
    "id": "WANDB_RUN_ID",
    "name": "WANDB_NAME",
    "notes": "WANDB_NOTES",
    "tags": "WANDB_TAGS",
    "group": "WANDB_RUN_GROUP",
    "job_type": "WANDB_JOB_TYPE",
    "resume": "WANDB_RESUME",
    "mode": "WANDB_MODE",
}


class Run(Base):
    library, between = "wandb", "."

    def __init__(self, wish: dict[str, Any]) -> None:
        self.entity, self._notes, self.job_type = wish.get("entity") or "", wish.get("notes"), wish.get("job_type")
        facts = {key: wish.get(key) for key in ("project", "name", "group")}
        tags = [*_words(wish.get("tags")), *([self.job_type] if self.job_type else [])]
        super().__init__(_is_off(wish), _config(wish), tags=tags, **facts, **_which(wish))
        self.start_time, self.sweep_id, self.settings = time.time(), None, Settings(**wish["own"])
        self.offline, self.mode, self.starting_step = True, "disabled" if self.disabled else "offline", self.step
        self.path = "/".join(part for part in (self.entity, self.project, self.id) if part)
        if self._notes:
            self._captured.note(str(self._notes))

    @property
    def notes(self) -> Any:
        return self._notes

    @notes.setter
    def notes(self, notes: Any) -> None:
        self._notes = notes
        self._captured.note(str(notes))

    @quiet
    def define_metric(
        self, name: Any, step_metric: Any = None, step_sync: Any = None, hidden: Any = None, summary: Any = None,
        goal: Any = None, overwrite: Any = None,
    ) -> Any:  # fmt: skip
        self._captured.define(name, step_metric)
        self.summary.define(str(name), summary, goal)
        return Metric(str(name))

    def watch(self, *_: Any, **__: Any) -> None:
        unsupported("wandb.watch", "gradients and weights are not read; log what you need of them")

    def unwatch(self, *_: Any, **__: Any) -> None:
        pass

    def log_code(self, *_: Any, **__: Any) -> None:
        unsupported("wandb.log_code", "the commit and the changes of the repository are recorded already")

    def mark_preempting(self) -> None:
        self._captured.note("the machine is about to be taken away", kind="warning")

    def get_url(self) -> None:
        return None

    project_url = sweep_url = None
    get_project_url = get_sweep_url = get_url

    def _label(self, *_: Any, **__: Any) -> None:
        """Transformers says that the run is its own."""

    def project_name(self) -> str:
        return str(self.project or "")

    def log_model(self, path: Any, name: Any = None, *_: Any, **__: Any) -> Any:
        return self.log_artifact(path, name, "model")


class RunDisabled(Anything):
    """What W&B calls a run that is switched off; trainers ask whether a run is one."""


class Metric:
    def __init__(self, name: str) -> None:
        self.name = name


class Settings(Anything):
    """Settings of W&B, kept as attributes. Those of `init` count; the others change nothing."""

    def __init__(self, *_: Any, **settings: Any) -> None:
        self.__dict__.update(settings)

    def update(self, *_: Any, **settings: Any) -> None:
        self.__dict__.update(settings)


def start(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Run:
    wish = {**dict(zip(POSITIONS, args, strict=False)), **kwargs}
    given = wish.get("settings")
    own = given if isinstance(given, dict) else getattr(given, "__dict__", {})
    wish["own"] = own
    for name, variable in VARIABLES.items():
        wish[name] = _first(wish.get(name), own.get(name), own.get(f"run_{name}"), os.environ.get(variable))
    return Run(wish)


CALLS = (
    *("log", "define_metric", "alert", "save", "log_artifact", "log_model", "watch", "unwatch", "log_code"),
    "mark_preempting",
)
PARTS = ("sdk", "errors", "util", "apis", "data_types", "wandb_run", "wandb_sdk", "env")
NO_ACCOUNT = ("sweep", "controller", "Api", "use_artifact", "use_model", "restore", "link_model")


def stand_in(module: ModuleType) -> None:
    door = Door("wandb", start, NO_ACCOUNT)
    media = (Table, Image, Video, Audio, Html, Histogram, Plotly)
    kinds = (*media, Artifact, Settings, AlertLevel, Run, RunDisabled, Config)
    door.fill(module, "0.31.0", CALLS, kinds, PARTS)
    module.__dict__.update(termlog=_say, termwarn=_say, termerror=_say, setup=Anything(), require=Anything())
    module.__dict__.update(teardown=door.finish, agent=_agent, generate_id=generate_id)


def generate_id(length: int = 8) -> str:
    """An id for a run, as `wandb.util` makes them."""
    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(length))


def _agent(*_: Any, **__: Any) -> None:
    unsupported("wandb.agent", "a sweep needs an account; the function is not called")


class AlertLevel:
    INFO, WARN, ERROR = "INFO", "WARN", "ERROR"


def _say(string: str = "", *_: Any, **__: Any) -> None:
    print_once(f"wandb: {string}")


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _words(tags: Any) -> list[str]:
    return [word for word in tags.split(",") if word] if isinstance(tags, str) else [str(tag) for tag in tags or ()]


def _is_off(wish: dict[str, Any]) -> bool:
    switched_off = os.environ.get("WANDB_DISABLED", "").lower() in ("true", "1", "yes", "on")
    return wish.get("mode") in ("disabled", "dryrun-disabled") or (wish.get("mode") is None and switched_off)


def _config(wish: dict[str, Any]) -> dict[str, Any]:
    found = settings(wish.get("config"))
    only, without = wish.get("config_include_keys"), set(wish.get("config_exclude_keys") or ())
    return {key: value for key, value in found.items() if key not in without and (not only or key in only)}


def _which(wish: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `rs.init` that say which run it is, and where."""
    which: dict[str, Any] = {"id": wish.get("id"), "resume": _resume(wish.get("resume"))}
    for name, ours in (("resume_from", "resume"), ("fork_from", "fork")):
        id, _, step = str(wish.get(name) or "").partition("?_step=")
        with contextlib.suppress(ValueError):
            if step:
                which |= {"id": id, "resume": int(step)} if ours == "resume" else {"fork": (id, int(step))}
    if wish.get("dir") and "ROLLSCOPE_DIR" not in os.environ:
        which["dir"] = os.path.join(str(wish["dir"]), "runs")
    return {key: value for key, value in which.items() if value is not None}


def _resume(wish: Any) -> Any:
    """W&B's words for resuming in ours. Without an id there is nothing to resume."""
    return {True: "allow", "must": True, "allow": "allow", "auto": "allow"}.get(wish)
