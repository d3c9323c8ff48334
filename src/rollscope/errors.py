"""Every error that Rollscope raises on purpose.

A message says what is wrong, with which value, what was expected, and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection


class RollscopeError(Exception):
    """The base class of all of them."""

    status = 400  # the HTTP status when the error reaches the server

    def __str__(self) -> str:  # KeyError would quote the sentence
        return str(self.args[0]) if self.args else ""


class UnknownMetric(RollscopeError, KeyError):
    """No metric has this name."""

    status = 404


class AmbiguousMetric(RollscopeError, KeyError):
    """Several metrics have this name."""

    status = 409


class MetricWarning(UserWarning):
    """The number under a name is not quite what the name promises."""


class BadBatch(RollscopeError, ValueError):
    """`compute` does not take this key or this shape."""


class BadInput(RollscopeError, ValueError):
    """A caller passed a value that Rollscope cannot use."""


class NotFound(RollscopeError, LookupError):
    """The run, the file or the page does not exist."""

    status = 404


class MissingExtra(RollscopeError, ImportError):
    """An optional package is not installed."""

    status = 501

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed. "
            f'Install it with: pip install "rollscope[{extra}]"'
        )


class CannotWrite(RollscopeError):
    """The disk is full or read-only, or another process owns the folder."""

    status = 409


class CannotRead(RollscopeError):
    """The files of one run cannot be read: no permission, or they are no files of a run."""

    status = 409


class NotSignedIn(RollscopeError):
    """The request has no token, or its token is wrong, revoked or past its end."""

    status = 401


class NotAllowed(RollscopeError):
    """The token allows reading this, but not changing it."""

    status = 403


class TooOften(RollscopeError):
    """One client sends more requests than the server allows it."""

    status = 429


class NotTrusted(RollscopeError):
    """A project's own code is not run, because nobody trusted it as it is."""

    status = 403


class MachineBusy(RollscopeError):
    """Nothing is wrong with the question: the machine had no time for it. Ask again."""

    status = 503


class CorruptFile(RollscopeError):
    """A stored file is damaged."""

    status = 500


def nearest(name: str, known: Collection[str], count: int = 3) -> str:
    """` Did you mean 'a' or 'b'?`, or an empty text when no known name is similar."""
    near = difflib.get_close_matches(name, known, n=count, cutoff=0.5)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
