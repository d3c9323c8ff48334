"""Who ships a run through a server."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sender:
    """Whose token it is, and what it may say about runs that it did not record; None: anything."""

    name: str = ""
    kinds: Collection[str] | None = None

    def records(self, recorder: str) -> bool:
        """True if a run with this recorder is the sender's own, or it may change any."""
        return self.kinds is None or recorder == self.name


ANYBODY = Sender()  # where nobody signs in
