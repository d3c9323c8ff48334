"""docs/format.md: the page is written by hand, its list of columns is made from the schema."""

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
        out += [
            f"| `{table}` | `{c.name}` | `{c.type}`{', big' if c.big else ''} | {c.doc.replace('|', chr(92) + '|')} |"
            for c in columns
        ]
    return out
