"""What commands print: text of a run is neither markup nor a command to the terminal."""

from __future__ import annotations

import sys
from typing import IO, TYPE_CHECKING, Any

from rollscope.visible import json_text, visible

if TYPE_CHECKING:
    from rich.text import Text

LONGEST = 1000  # characters of a name that are printed


def say(text: str, file: IO[str] | None = None) -> None:
    """Print text that may hold names and paths."""
    print(visible(text), file=file or sys.stdout, flush=True)


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print JSON; with `indent=None` as one line."""
    print(json_text(value, indent), flush=True)


def styled(value: Any, style: str = "") -> Text:
    """A value as visible text, for a table cell or a line."""
    from rich.text import Text

    return Text("" if value is None else visible(str(value)), style)


def in_line(value: Any) -> str:
    """A name as visible text without a line break: it cannot look like a second row.

    One of megabytes is cut: it would leave nothing else on the screen.
    """
    text = str(value)
    line = visible(text[:LONGEST]).replace("\n", "<U+000A>").replace("\t", "<U+0009>")
    return line if len(text) <= LONGEST else f"{line}… ({len(text):,} characters)"


def single_line(text: str, width: int) -> str:
    """Visible text on one line, cut to `width` characters."""
    line = " ".join(visible(text[: 4 * width]).split())
    return line if len(line) <= width else line[: width - 1] + "…"
