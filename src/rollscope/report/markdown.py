"""The report as Markdown, for a pull request or an issue: words and tables, no pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rollscope.diagnose import Chapter, Finding

from .content import Report, text
from .words import MARKS, cost, life, when

MOST_CONFIG = 40  # rows; a pull request is no place for hundreds
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#!|~@$])")


def markdown(report: Report) -> str:
    """The whole text."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {plain(report.name)}: {plain(report.verdict)}"
    yield f"\n{plain(report.context)}\n"
    yield from _table(report.facts)
    yield "\n## What happened\n"
    for chapter in report.chapters:
        yield from _chapter(report, chapter, 0)
    if not report.chapters:
        yield f"{report.looked} rules read this run; none applies."
    for past in report.recovered:
        yield f"- Recovered: {plain(text(past.claim))}, {when(past)}."
    if report.useful:
        yield f"\n{plain(report.useful)}"
    yield "\n## Vital signs\n"
    yield from _table([(f"{MARKS.get(c.status, '–')} {c.title}", c.reading or "–") for c in report.vitals])
    yield from _samples(report)
    if report.config:
        yield "\n## Configuration\n"
        yield from _table(report.config[:MOST_CONFIG])
        if len(report.config) > MOST_CONFIG:
            yield f"\n{len(report.config) - MOST_CONFIG} more settings are in the HTML report."
    yield f"\n{plain(report.made)}. Run `{report.id}`."


def _chapter(report: Report, chapter: Chapter, depth: int) -> Iterator[str]:
    """A finding and what follows from it, indented."""
    indent = "  " * depth
    finding = chapter.finding
    mark = MARKS.get(finding.severity, "–")
    yield f"{indent}- {mark} **{plain(text(finding.claim))}** {when(finding)}. {plain(text(finding.evidence))}"
    for line in _more(report, finding):
        yield f"{indent}  {plain(text(line))}"
    for follows in chapter.follows:
        yield from _chapter(report, follows, depth + 1)


def _more(report: Report, finding: Finding) -> Iterator[str]:
    yield from finding.thresholds
    if finding.life:
        yield life(finding)
    if finding.check:
        yield f"First check: {finding.check[0]}"
    if finding.cost:
        yield cost(finding.cost)
    if finding.rule in report.resume:
        yield report.resume[finding.rule]


def _samples(report: Report) -> Iterator[str]:
    for picked in report.samples:
        sample = picked["sample"]
        yield f"\n### {picked['label']} of step {sample['step']}, reward {sample['reward']}\n"
        yield fenced(text(sample["completion"]))


def _table(rows: list[tuple[str, str]]) -> Iterator[str]:
    if rows:
        yield "| | |\n|---|---|"
    for key, value in rows:
        yield f"| {plain(key)} | {plain(value)} |"


def plain(words: str) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, no mention, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(words.split()))


def fenced(words: str) -> str:
    """A block that no text inside can end."""
    longest = max((len(ticks) for ticks in re.findall(r"`+", words)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{words}\n{fence}"
