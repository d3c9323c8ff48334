"""The run that a stand-in's `init` returns, as far as trackers agree on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources.capture.record import Captured, flatten
from rollscope.sources.live.quiet import print_once, quiet

from .anything import Anything, unsupported
from .artifact import Artifact, copied
from .config import Config, settings
from .resumed import resumed
from .summary import Summary

LARGEST = 100_000_000  # bytes of a file that `save` copies
LEVELS = {"INFO": "note", "WARN": "warning", "ERROR": "warning"}  # of an alert -> the kind of its note


class Run(Anything):
    """Records its calls. It never raises; what it does not know says so once."""

    library = ""
    between = "/"  # joins the names of nested values
    ended: Callable[[Run], None] = staticmethod(lambda _: None)

    def __init__(self, off: bool = False, config: Any = None, **facts: Any) -> None:
        self._captured, self._is_over = Captured(self.library, off), False
        self._captured.begin(config=settings(config), **resumed(facts))
        self.id = self._captured.id or "disabled"
        self._name, self._tags = facts.get("name") or self.id, tuple(facts.get("tags") or ())
        self.group, self.project = facts.get("group"), facts.get("project")
        self.dir, self.disabled, self.url = str(self._captured.folder or Path.cwd()), off, None
        self.config = Config(self._captured.configure)
        self.config._items.update(settings(config))
        self.summary = Summary(self._summarise)
        self.resumed = self._captured.steps.current > 0
        if not off and "ROLLSCOPE_RUN_ID" not in os.environ:  # `rollscope run` says it
            print_once(f"rollscope: recording the run {self.id} in {Path(self.dir).parent}")

    @property
    def step(self) -> int:
        return self._captured.steps.current

    @property
    def name(self) -> str:
        return str(self._name)

    @name.setter
    def name(self, name: Any) -> None:
        self._name = str(name)
        self._captured.describe(name=self._name)

    @property
    def tags(self) -> tuple[str, ...]:
        return self._tags

    @tags.setter
    def tags(self, tags: Any) -> None:
        self._tags = tuple(tags or ())
        self._captured.describe(tags=list(self._tags))

    def log(self, data: Any, step: int | None = None, commit: bool | None = None, **_: Any) -> None:
        if self._is_over:
            print_once(f"rollscope: values were logged into the run {self.id} after its end; they are not recorded")
            return
        if not isinstance(data, Mapping):
            print_once(f"rollscope: {self.library}.log takes names and values, not a {type(data).__name__}")
            return
        is_late = step is not None and _at(step) < self.step
        self._captured.log(data, step, commit, self.between)
        if not is_late:
            self._take_summary(data)

    @quiet
    def _take_summary(self, data: Any) -> None:
        self.summary.take({str(name): value for name, value in data.items()})

    def _summarise(self, changed: dict[str, Any]) -> None:
        """Record what the program writes into the summary itself, under a name of its own."""
        own = {f"summary/{name}": value for name, value in flatten(changed, self.between)}
        self._captured.numbers(own, self._captured.last)

    @quiet
    def alert(self, title: str = "", text: str | None = "", level: Any = "WARN", **_: Any) -> None:
        word = str(getattr(level, "value", level)).upper()
        self._captured.note(f"{title}: {text}" if text else str(title), kind=LEVELS.get(word, "warning"), level=word)

    @quiet
    def log_artifact(self, artifact_or_path: Any, name: Any = None, type: Any = None, **_: Any) -> Any:
        artifact = artifact_or_path
        if not isinstance(artifact, Artifact):
            path = Path(artifact_or_path)
            artifact = Artifact(name or path.name, type or "artifact")
            artifact.add_dir(path) if path.is_dir() else artifact.add_file(path)
        kind = "checkpoint" if artifact.type == "model" else "artifact"
        self._captured.note(f"{artifact.type} {artifact.name}", kind=kind, **artifact.about())
        return artifact

    @quiet
    def save(self, glob_str: Any = None, base_path: Any = None, *_: Any, **__: Any) -> list[str]:
        """Copy files into the run's folder."""
        folder, base = self._captured.folder, Path(base_path or ".").resolve()
        if glob_str is None or folder is None:
            return []
        return [str(path) for path in copied(str(glob_str), base, folder / "files", LARGEST)]

    def finish(self, exit_code: Any = None, *_: Any, **__: Any) -> None:
        """End the run; a second call does nothing."""
        self._end("crashed" if exit_code else "finished", f"exit code {exit_code}" if exit_code else None)

    def _end(self, state: str, reason: str | None = None) -> None:
        self._is_over = True
        self._captured.end(state, reason)
        self.ended(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        unsupported(f"{self.library}'s run.{name}")
        return Anything()

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        if kind is None or kind is SystemExit:
            self.finish()
        else:
            self._end("crashed", f"{kind.__name__}: {error}")


def _at(step: Any) -> int:
    try:
        return int(step)
    except (TypeError, ValueError):
        return 0
