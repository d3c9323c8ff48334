"""Stands for any part of a library that has no stand-in of its own."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from rollscope.sources.live.quiet import print_once


class Anything:
    """It can be called, entered, iterated and read, and it is false."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Anything()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __getitem__(self, key: Any) -> Any:
        return Anything()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False


class Kind(type):
    """A class of which nothing is known: it can be asked for methods such as `from_file`."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class Error(Exception):
    """The base of a library's exceptions. A stand-in raises none; programs name them."""


@functools.cache
def error(name: str) -> type[Error]:
    return type(name, (Error,), {})


@functools.cache
def kind(name: str) -> Kind:
    """A class of its own for each name, so that `isinstance` tells them apart."""
    return Kind(name, (Anything,), {})


def missing(library: str, name: str, why: str = "its calls do nothing") -> Any:
    """What a stand-in lacks: a class if the name begins with a capital, else an object."""
    if name.startswith("_"):
        raise AttributeError(name)
    if name.endswith("Error"):
        return error(name)
    unsupported(f"{library}.{name}", why)
    return kind(name) if name[:1].isupper() else Anything()


def unsupported(what: str, why: str = "its calls do nothing") -> None:
    print_once(f"rollscope: {what} is not recorded here ({why}); training goes on")
