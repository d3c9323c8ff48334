"""docs/names.md: each name in the published guides, its entry, its inputs and its producer."""

from __future__ import annotations

from rollscope.catalog.names.published import CORRECTIONS, GUIDES, Guide
from rollscope.catalog.names.resolve import resolve

INTRODUCTION = (
    "Made by `make docs`. A `≠` marks a name under which the framework logs another quantity than our entry; "
    "`rollscope explain NAME` says which."
)


def page() -> str:
    lines = ["# The names in the published guides", "", INTRODUCTION, ""]
    for guide in GUIDES:
        lines += [*_section(guide), ""]
    lines += [
        "## Where the guides and the code differ",
        "",
        "| guide | it says | the code does | read in |",
        "|---|---|---|---|",
    ]
    lines += [f"| {c.guide} | {c.says} | {c.code} | {c.where} |" for c in CORRECTIONS]
    return "\n".join(lines) + "\n"


def _section(guide: Guide) -> list[str]:
    return [
        f"## {guide.name}",
        "",
        "| name | our entry | | made from | produced by |",
        "|---|---|---|---|---|",
        *(_row(name, guide.dialect) for name in guide.metrics),
    ]


def _row(name: str, dialect: str | None) -> str:
    match = resolve(name, dialect)
    other = "" if match.same else "≠"
    return f"| `{name}` | `{match.name}` | {other} | {', '.join(match.entry.needs)} | {match.entry.producer} |"
