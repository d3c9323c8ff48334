"""Render the table of batch keys in docs/batch.md; the rest of the page is written by hand."""

from __future__ import annotations

from pathlib import Path

from rollscope.catalog.compute.reads import entries_reading
from rollscope.catalog.keys import KEYS, SHAPES, Key
from rollscope.catalog.sections import section_of
from rollscope.catalog.spec import METRICS

PAGE = Path(__file__).parent.parent / "docs" / "batch.md"
MARKS = "<!-- keys: made from the catalogue by `make docs` -->", "<!-- end of keys -->"
SHOWN = 5  # entries named for each key
TITLES = {
    "mask": "Masks",
    "token": "One value per token",
    "logits": "The whole vocabulary per token",
    "sample": "One number per sample",
    "label": "One name per sample",
    "table": "Several numbers per sample, by name",
    "step": "One number per step",
    "word": "One word per step",
    "object": "Structures",
}


def page() -> str:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    return before + MARKS[0] + "\n" + "\n".join(_tables()) + "\n" + MARKS[1] + rest.partition(MARKS[1])[2]


def _tables() -> list[str]:
    lines: list[str] = []
    entries_reading(())  # fills the catalogue, and with it the keys
    for level, title in TITLES.items():
        keys = [key for key in KEYS.values() if key.level == level]
        rows = [f"| `{key.name}` | {_meaning(key)} | {_enables(key)} |" for key in keys]
        lines += ["", f"### {title}", "", f"Shape: {SHAPES[level]}.", ""]
        lines += ["| key | meaning | enables |", "|---|---|---|", *rows]
    return [*lines, ""]


def _meaning(key: Key) -> str:
    often = "; may be shaped [B], once per sample" if key.per_sample and "per sample" not in key.what else ""
    return f"{key.what}{often}".replace("|", "\\|")


def _enables(key: Key) -> str:
    """The entries that need the key, else those that use it, from those that need least."""
    needing = [name for name, entry in METRICS.items() if entry.define and key.name in entry.needs]
    names = sorted(needing or entries_reading([key.name]), key=lambda name: (len(METRICS[name].needs), name))
    if not names:
        return "joins calls that speak of the same samples"
    links = [f"[`{name}`](metrics/{section_of(name).key}.md)" for name in names[:SHOWN]]
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{'' if needing else 'refines '}{', '.join(links)}{rest}"
