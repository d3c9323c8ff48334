"""docs/names.md: each name of the published guides, the entry behind it, what it is made from and who produces it."""

from __future__ import annotations

from rollscope.catalog.names.published import CORRECTIONS, GUIDES
from rollscope.catalog.names.resolve import resolve


def page() -> str:
    out = [
        "# The names in the published guides",
        "",
        "Made by `make docs`. A `≠` marks a name under which the framework logs another quantity than our entry; `rollscope explain NAME` says which.",
        "",
    ]
    for guide in GUIDES:
        out += [f"## {guide.name}", "", "| name | our entry | | made from | produced by |", "|---|---|---|---|---|"]
        for name in guide.metrics:
            found = resolve(name, guide.dialect)
            out.append(
                f"| `{name}` | `{found.name}` | {'' if found.same else '≠'} | {', '.join(found.entry.needs)} | {found.entry.producer} |"
            )
        out.append("")
    out += [
        "## Where the guides and the code part",
        "",
        "| guide | it says | the code does | read in |",
        "|---|---|---|---|",
    ]
    out += [f"| {c.guide} | {c.says} | {c.code} | {c.where} |" for c in CORRECTIONS]
    return "\n".join(out) + "\n"
