"""How sending a notice can fail. The sentence never holds the address of a target."""

from __future__ import annotations


class NotSent(Exception):
    """The target did not get the notice, or said that it cannot take it now: try again."""

    def __init__(self, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.wait = wait  # seconds that the target asked for


class Refused(Exception):
    """The target will never take this notice: trying again cannot help."""


class Unanswered(Exception):
    """It was sent whole and no answer came: it may have arrived, so it is not sent again."""
