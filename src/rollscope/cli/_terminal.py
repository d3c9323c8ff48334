"""Text of a run, made safe to print: it can contain neither markup nor commands to the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text


def safe(text: str) -> str:
    """Replace control and direction characters and lone surrogates by codes like `<U+001B>`."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"<U+{ord(c):04X}>" for c in text)


def styled(value: Any, style: str = "") -> Text:
    """A value as safe text, for a table cell or a line."""
    from rich.text import Text

    return Text("" if value is None else safe(str(value)), style)


def single_line(text: str, width: int) -> str:
    """Safe text on one line, cut to `width` characters."""
    head = text[: 4 * width]
    line = "".join(c if c.isprintable() else " " if c in "\n\t" else f"<{ord(c):02X}>" for c in head)
    line = " ".join(line.split())
    return line if len(line) <= width else line[: width - 1] + "…"
