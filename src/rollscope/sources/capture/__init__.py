"""What `rollscope run` does inside the program it starts: calls to wandb, trackio, swanlab, mlflow and TensorBoard writers are recorded.

A library that is installed is used as it is, with a listener on its calls, and set to do nothing when it was not configured. One that is not
installed is stood in for, so that the program runs all the same. Nothing is imported before the program imports it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

LISTENERS = {  # module the program imports -> module of ours that knows it
    "wandb": "rollscope.sources.capture.wandb",
    "trackio": "rollscope.sources.capture.trackio",
    "swanlab": "rollscope.sources.capture.swanlab",
    "mlflow": "rollscope.sources.capture.mlflow",
    "tensorboardX": "rollscope.sources.capture.tensorboard",
    "torch.utils.tensorboard": "rollscope.sources.capture.tensorboard",
}


class Finder(importlib.abc.MetaPathFinder):
    """Stands before every other finder, and speaks only for the names above."""

    def __init__(self) -> None:
        self._asking: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in LISTENERS or name in self._asking:
            return None
        self._asking.add(name)
        try:
            real = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            real = None
        finally:
            self._asking.discard(name)
        return importlib.machinery.ModuleSpec(
            name, Loader(name, real), is_package=real is None or real.submodule_search_locations is not None
        )


class Loader(importlib.abc.Loader):
    def __init__(self, name: str, real: importlib.machinery.ModuleSpec | None) -> None:
        self._name, self._real = name, real

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        if self._real is None or self._real.loader is None:
            return None
        spec.origin, spec.submodule_search_locations, spec.has_location = (
            self._real.origin,
            self._real.submodule_search_locations,
            True,
        )
        return self._real.loader.create_module(self._real)

    def exec_module(self, module: ModuleType) -> None:
        ours: Any = importlib.import_module(LISTENERS[self._name])
        if self._real is not None and self._real.loader is not None:
            try:
                self._real.loader.exec_module(module)
            except ImportError:  # torch.utils.tensorboard is there without tensorboard
                ours.stand_in(module)
                return
            ours.listen(module)
        else:
            module.__path__ = []
            ours.stand_in(module)


def install() -> None:
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
