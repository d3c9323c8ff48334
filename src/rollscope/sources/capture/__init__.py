"""What `rollscope run` does inside the program it starts: it records calls to trackers.

Trackers are wandb, trackio, swanlab, mlflow and TensorBoard writers. If a library is installed, its
calls are recorded and passed on; if it is not configured, it is disabled. If a library is missing,
a stand-in replaces it, so that the program runs. A library is imported only when the program does
so. Of a program on Ray, the work of its actors and tasks is recorded, too.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

LISTENERS = {  # module that the program imports -> module of ours that listens to it
    "wandb": "rollscope.sources.capture.wandb",
    "trackio": "rollscope.sources.capture.trackio",
    "swanlab": "rollscope.sources.capture.swanlab",
    "mlflow": "rollscope.sources.capture.mlflow",
    "tensorboardX": "rollscope.sources.capture.tensorboard",
    "torch.utils.tensorboard": "rollscope.sources.capture.tensorboard",
    "ray": "rollscope.sources.capture.ray",
}
NEEDED = {"ray"}  # a program that imports it does not run without it: there is no stand-in


class Finder(importlib.abc.MetaPathFinder):
    """The first finder on `sys.meta_path`. It handles only the modules in `LISTENERS`."""

    def __init__(self) -> None:
        self._searching: set[str] = set()  # modules whose real spec is being looked up

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in LISTENERS or name in self._searching:
            return None
        self._searching.add(name)
        try:
            real = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            real = None
        finally:
            self._searching.discard(name)
        if real is None and name in NEEDED:
            return None
        is_package = real is None or real.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(name, Loader(name, real), is_package=is_package)


class Loader(importlib.abc.Loader):
    """Loads the real module and listens to it, or fills in a stand-in."""

    def __init__(self, name: str, real: importlib.machinery.ModuleSpec | None) -> None:
        self._name, self._real = name, real

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        if self._real is None or self._real.loader is None:
            return None
        spec.origin, spec.has_location = self._real.origin, True
        spec.submodule_search_locations = self._real.submodule_search_locations
        return self._real.loader.create_module(self._real)

    def exec_module(self, module: ModuleType) -> None:
        ours: Any = importlib.import_module(LISTENERS[self._name])
        if self._real is not None and self._real.loader is not None:
            try:
                self._real.loader.exec_module(module)
            except ImportError:  # torch.utils.tensorboard exists even without tensorboard
                ours.stand_in(module)
                return
            ours.listen(module)
        else:
            module.__path__ = []
            ours.stand_in(module)


def install() -> None:
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())
