"""The stand-in for SwanLab: `import rollscope.swanlab as swanlab`."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from rollscope.sources.live.quiet import quiet

from .door import Door
from .media import Audio, Html, Image, Media, Text, Video
from .run import Run as Base

NO_ACCOUNT = ("sync", "Api", "sync_wandb", "sync_mlflow", "sync_tensorboardX", "sync_tensorboard_torch")


class Run(Base):
    library = "swanlab"

    def log_scalar(self, key: str, value: Any, step: int | None = None, **_: Any) -> None:
        self.log({key: value}, step)

    def define_metric(self, *_: Any, **__: Any) -> None:
        """SwanLab draws; the catalogue says how here."""

    @quiet
    def _log_media(self, kind: type[Media], key: str, data: Any, step: int | None, options: dict[str, Any]) -> None:
        several = data if isinstance(data, list | tuple) else [data]
        self.log({key: [one if isinstance(one, Media) else kind(one, **options) for one in several]}, step)

    def log_text(self, key: str, data: Any, step: int | None = None, **options: Any) -> None:
        self._log_media(Text, key, data, step, options)

    def log_image(self, key: str, data: Any, step: int | None = None, **options: Any) -> None:
        self._log_media(Image, key, data, step, options)

    def log_audio(self, key: str, data: Any, step: int | None = None, **options: Any) -> None:
        self._log_media(Audio, key, data, step, options)

    def log_video(self, key: str, data: Any, step: int | None = None, **options: Any) -> None:
        self._log_media(Video, key, data, step, options)

    def log_html(self, key: str, data: Any, step: int | None = None, **options: Any) -> None:
        self._log_media(Html, key, data, step, options)


CALLS = ("log", "log_scalar", "log_text", "log_image", "log_audio", "log_video", "log_html", "define_metric", "save")


def start(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Run:
    wish = {**dict(zip(("project",), args, strict=False)), **kwargs}
    off = (wish.get("mode") or os.environ.get("SWANLAB_MODE")) == "disabled"
    name = wish.get("experiment_name") or wish.get("name") or os.environ.get("SWANLAB_EXP_NAME")
    project = wish.get("project") or os.environ.get("SWANLAB_PROJ_NAME")
    which = {"id": wish["id"], "resume": "allow" if wish.get("resume") else None} if wish.get("id") else {}
    run = Run(
        off,
        wish.get("config"),
        project=project,
        name=name,
        group=wish.get("group"),
        tags=wish.get("tags"),
        **{key: value for key, value in which.items() if value},
    )
    if wish.get("description"):
        run._captured.note(str(wish["description"]))
    return run


def stand_in(module: ModuleType) -> None:
    door = Door("swanlab", start, NO_ACCOUNT)
    door.fill(module, "0.10.3", CALLS, (Text, Image, Audio, Video, Html, Run))
    module.__dict__.update(get_run=lambda: door.run, has_run=lambda: door.run is not None)
    module.__dict__.update(merge_settings=lambda *_, **__: None, merge_callbacks=lambda *_, **__: None)
