"""Render the list of columns in docs/format.md from the schema; the rest is written by hand."""

from __future__ import annotations

from pathlib import Path

from rollscope.store.schema import TABLES

PAGE = Path(__file__).parent.parent / "docs" / "format.md"
OPENING, CLOSING = "<!-- columns: made from store/schema.py by `make docs` -->", "<!-- end of columns -->"


def page() -> str:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(OPENING)
    return before + OPENING + "\n" + "\n".join(_table()) + "\n" + CLOSING + rest.partition(CLOSING)[2]


def _table() -> list[str]:
    out = ["| table | column | type | what |", "|---|---|---|---|"]
    for table, columns in TABLES.items():
        for column in columns:
            type, doc = f"`{column.type}`{', big' if column.big else ''}", column.doc.replace("|", "\\|")
            out.append(f"| `{table}` | `{column.name}` | {type} | {doc} |")
    return out
