"""Render the lists of columns and of kinds in docs/format.md; the rest is written by hand."""

from __future__ import annotations

from pathlib import Path

from rollscope.store.project.kinds import KINDS
from rollscope.store.schema import TABLES

PAGE = Path(__file__).parent.parent / "docs" / "format.md"
COLUMNS = "<!-- columns: made from store/schema.py by `make docs` -->", "<!-- end of columns -->"
ENTRIES = "<!-- kinds: made from store/project/kinds.py by `make docs` -->", "<!-- end of kinds -->"


def page() -> str:
    text = PAGE.read_text(encoding="utf-8")
    return _between(_between(text, ENTRIES, _kinds()), COLUMNS, _table())


def _between(text: str, marks: tuple[str, str], lines: list[str]) -> str:
    """The text with these lines between two marks."""
    before, _, rest = text.partition(marks[0])
    return before + marks[0] + "\n" + "\n".join(lines) + "\n" + marks[1] + rest.partition(marks[1])[2]


def _kinds() -> list[str]:
    rows = [f"| `{name}` | {'/'.join(kind.words).upper()} | {kind.says} |" for name, kind in KINDS.items()]
    return ["| kind | name | what its value says |", "|---|---|---|", *rows]


def _table() -> list[str]:
    out = ["| table | column | type | what |", "|---|---|---|---|"]
    for table, columns in TABLES.items():
        for column in columns:
            type, doc = f"`{column.type}`{', big' if column.big else ''}", column.doc.replace("|", "\\|")
            out.append(f"| `{table}` | `{column.name}` | {type} | {doc} |")
    return out
