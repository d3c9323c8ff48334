"""Text of a run on a terminal: nothing in it may pass for markup, or for a command to the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .samples import safe

if TYPE_CHECKING:
    from rich.text import Text


def shown(value: Any, style: str = "") -> Text:
    """A cell of a table, or a line."""
    from rich.text import Text

    return Text("" if value is None else safe(str(value)), style)
