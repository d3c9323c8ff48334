"""Everything Rollscope raises on purpose. A message says what was wrong, with which value, what was expected, and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Collection


class RollscopeError(Exception):
    """Base of everything we raise on purpose."""

    status = 400  # what HTTP says when this reaches the server

    def __str__(self) -> str:  # KeyError would quote the sentence
        return str(self.args[0]) if self.args else ""


class UnknownMetric(RollscopeError, KeyError):
    status = 404


class AmbiguousMetric(RollscopeError, KeyError):
    status = 409


class BadBatch(RollscopeError, ValueError):
    """A key or a shape that `compute` cannot take."""


class BadInput(RollscopeError, ValueError):
    """A value somebody passed to us that we cannot work with."""


class NotFound(RollscopeError, LookupError):
    status = 404


class MissingExtra(RollscopeError, ImportError):
    status = 501

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f'{purpose} needs the package {package!r}, which is not installed. Install it with: pip install "rollscope[{extra}]"'
        )


class CannotWrite(RollscopeError):
    """The disk, or who owns the folder, does not let us."""

    status = 409


class CorruptFile(RollscopeError):
    status = 500


def nearest(name: str, known: Collection[str], count: int = 3) -> str:
    """` Did you mean 'a' or 'b'?`, or nothing when nothing is near."""
    near = difflib.get_close_matches(name, known, n=count, cutoff=0.5)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
