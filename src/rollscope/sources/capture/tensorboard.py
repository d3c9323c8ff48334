"""Record calls to TensorBoard writers of torch and tensorboardX: a listener, or a stand-in."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from rollscope.sources.capture.stand_in.anything import Anything

from .record import Captured

_shared: list[Captured] = []


def captured(log_dir: Any = None) -> Captured:
    """The run that all writers of a program share: each writer is a folder of one program."""
    if not _shared:
        _shared.append(Captured("tensorboard"))
        _shared[0].begin(name=None if log_dir is None else str(log_dir).rstrip("/").rsplit("/", 1)[-1])
    return _shared[0]


def scalar(tag: str, value: Any, step: Any) -> None:
    captured().numbers({tag: value}, int(step or 0))


def scalars(main: str, values: Any, step: Any) -> None:
    captured().numbers({f"{main}/{tag}": value for tag, value in dict(values).items()}, int(step or 0))


def listen(module: ModuleType) -> None:
    theirs = module.SummaryWriter

    class SummaryWriter(theirs):  # type: ignore[misc, valid-type]
        def __init__(self, log_dir: Any = None, *args: Any, **kwargs: Any) -> None:
            super().__init__(log_dir, *args, **kwargs)
            captured(log_dir)

        def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, *args: Any, **kwargs: Any) -> Any:
            scalar(tag, scalar_value, global_step)
            return super().add_scalar(tag, scalar_value, global_step, *args, **kwargs)

        def add_scalars(
            self, main_tag: str, tag_scalar_dict: Any, global_step: Any = None, *args: Any, **kwargs: Any
        ) -> Any:
            scalars(main_tag, tag_scalar_dict, global_step)
            return super().add_scalars(main_tag, tag_scalar_dict, global_step, *args, **kwargs)

        def add_hparams(self, hparam_dict: Any, metric_dict: Any, *args: Any, **kwargs: Any) -> Any:
            captured().configure(hparam_dict)
            return super().add_hparams(hparam_dict, metric_dict, *args, **kwargs)

    SummaryWriter.__qualname__ = "SummaryWriter"
    module.SummaryWriter = SummaryWriter  # type: ignore[attr-defined]


class Writer(Anything):
    """The stand-in for a `SummaryWriter`."""

    def __init__(self, log_dir: Any = None, *_: Any, **__: Any) -> None:
        self.log_dir = str(log_dir or "runs")
        captured(log_dir)

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None, *_: Any, **__: Any) -> None:
        scalar(tag, scalar_value, global_step)

    def add_scalars(self, main_tag: str, tag_scalar_dict: Any, global_step: Any = None, *_: Any, **__: Any) -> None:
        scalars(main_tag, tag_scalar_dict, global_step)

    def add_hparams(self, hparam_dict: Any, metric_dict: Any, *_: Any, **__: Any) -> None:
        captured().configure(hparam_dict)

    def __bool__(self) -> bool:
        return True


def stand_in(module: ModuleType) -> None:
    module.__dict__.update(SummaryWriter=Writer, FileWriter=Anything, __version__="0.0.0")
