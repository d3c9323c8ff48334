"""The modules below a stand-in: `wandb.errors.CommError`, `from wandb.sdk.lib import RunDisabled`.

Programs and trainers name classes and exceptions by such paths. A name means the same in every
module: what the stand-in has under it, else a class, or a module that may also be called.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from .anything import Anything, unsupported


class Parts(list[str]):
    """The search path of a stand-in and of the modules below it: there are no files to search."""

    def __init__(self, module: ModuleType, names: Iterable[str]) -> None:
        super().__init__()
        self.module, self.names = module, {*names}

    def part(self, name: str) -> Part:
        return Part(f"{self.module.__name__}.{name}", self)


class Part(ModuleType):
    """One module below a stand-in."""

    def __init__(self, name: str, parts: Parts) -> None:
        super().__init__(name)
        self.__path__ = parts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        parts = vars(self)["__path__"]
        if name in vars(parts.module) or name[:1].isupper():
            return getattr(parts.module, name)
        return Part(f"{self.__name__}.{name}", parts)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        unsupported(self.__name__)
        return Anything()


class Finder(importlib.abc.MetaPathFinder):
    """Finds modules whose parent has `Parts` as its path, whatever name it was imported by."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not isinstance(path, Parts) or not path.names & {*name.split(".")}:
            return None
        spec = importlib.machinery.ModuleSpec(name, Loader(path), is_package=True)
        spec.submodule_search_locations = path
        return spec


class Loader(importlib.abc.Loader):
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Part(spec.name, self._parts)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.append(Finder())
