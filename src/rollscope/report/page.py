"""The report as one HTML file: no script, nothing to load, fit for paper."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rollscope.diagnose import Chapter, Finding

from .chart import svg
from .content import Chart, Report, text
from .style import STYLE
from .words import MARKS, cost, life, when

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page(report: Report) -> str:
    """The whole file."""
    return "\n".join(
        [
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(report.name)}</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY, quote=True)}">',
            '<meta name="viewport" content="width=device-width"><meta name="referrer" content="no-referrer">',
            f"<style>{STYLE}</style></head><body>",
            _head(report),
            _section("What happened", _story(report)),
            _section("Vital signs", _charts(report.vitals)),
            _section(_samples_title(report), _samples(report)),
            _section("What could not be looked at", _skipped(report)),
            _section("Configuration", _table(report.config)),
            f"<footer>{escape(report.made)}. Run {escape(report.id)}.</footer></body></html>",
        ]
    )


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{body}</section>" if body else ""


def _head(report: Report) -> str:
    facts = " · ".join(f"{escape(key)} {escape(value)}" for key, value in report.facts)
    return (
        f'<header><p class="name">{escape(report.name)}</p><h1>{_mark(report.status)} {escape(report.verdict)}</h1>'
        f'<p class="context">{escape(report.context)}</p><p class="facts">{facts}</p></header>'
    )


def _mark(status: str) -> str:
    return f'<span class="mark {status}">{MARKS.get(status, "–")}</span>'


def _story(report: Report) -> str:
    none = f"<p>{report.looked} rules read this run; none applies.</p>"
    told = "".join(_chapter(report, chapter) for chapter in report.chapters) or none
    share = f"<p>{escape(report.useful)}</p>" if report.useful else ""
    return told + share + _list("Recovered", [f"{past.claim}, {when(past)}" for past in report.recovered])


def _chapter(report: Report, chapter: Chapter) -> str:
    follows = "".join(_chapter(report, part) for part in chapter.follows)
    chain = f'<div class="follows"><p class="quiet">What follows from it</p>{follows}</div>' if follows else ""
    return f"<article>{_finding(report, chapter.finding)}{chain}</article>"


def _finding(report: Report, finding: Finding) -> str:
    chart = report.evidence.get(finding.rule)
    advice = [a.text + (f" ({a.source})" if a.source else "") for a in finding.advice]
    parts = [
        f"<h3>{_mark(finding.severity)} {escape(text(finding.claim))} <small>{when(finding)}</small></h3>",
        f"<p>{escape(text(finding.evidence))}</p>",
        *(f'<p class="quiet">{escape(text(sentence))}</p>' for sentence in finding.thresholds),
        f'<p class="quiet">{escape(life(finding))}</p>' if finding.life else "",
        svg(chart) if chart else "",
        _list("Look at first", finding.check),
        _list("Then change", advice),
        f"<p>{escape(cost(finding.cost))}</p>" if finding.cost else "",
        f"<p>{escape(report.resume[finding.rule])}</p>" if finding.rule in report.resume else "",
        f'<p class="quiet">Samples: {escape(text(", ".join(finding.sample_ids)))}</p>' if finding.sample_ids else "",
    ]
    return "".join(parts)


def _list(title: str, items: Iterable[str]) -> str:
    rows = "".join(f"<li>{escape(text(item))}</li>" for item in items)
    return f'<p class="quiet">{title}</p><ol>{rows}</ol>' if rows else ""


def _charts(charts: list[Chart]) -> str:
    cards = "".join(
        f"<figure><figcaption>{_mark(chart.status)} {escape(chart.title)}"
        f'<span class="quiet"> {escape(" and ".join(line.label for line in chart.lines if line.label))}</span>'
        f"</figcaption>{svg(chart)}<p>{escape(chart.reading)}</p></figure>"
        for chart in charts
    )
    return f'<div class="cards">{cards}</div>' if cards else ""


def _samples_title(report: Report) -> str:
    return f"Samples of step {report.samples_step:,}" if report.samples_step is not None else "Samples"


def _samples(report: Report) -> str:
    """Three samples. What a model wrote is shown as text, character by character."""
    return "".join(
        f'<div class="sample"><p><b>{escape(picked["label"])}</b> reward {escape(str(picked["sample"]["reward"]))}'
        f' <span class="quiet">{escape(text(picked["sample"]["id"]))}</span></p>'
        f'<pre class="quiet">{escape(text(picked["sample"]["prompt"]))}</pre>'
        f"<pre>{escape(text(picked['sample']['completion']))}</pre></div>"
        for picked in report.samples
    )


def _skipped(report: Report) -> str:
    return _table([(rule, f"needs {needs}") for rule, needs in report.skipped])


def _table(rows: list[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in rows)
    return f"<table>{cells}</table>" if cells else ""
