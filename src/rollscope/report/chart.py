"""A chart as inline SVG: min-max band, line, gaps where nothing was logged, the finding's steps."""

from __future__ import annotations

from html import escape

import numpy as np

from rollscope.views.health.sentence import say

from .content import Chart, Floats, Line

WIDTH, HEIGHT = 360, 120
LEFT, RIGHT, TOP, BOTTOM = 4, 4, 8, 18


def svg(chart: Chart) -> str:
    """The chart, or a sentence where there is nothing to draw."""
    values = [v[np.isfinite(v)] for line in chart.lines for v in (line.low, line.high, line.mean)]
    known = np.concatenate([*values, np.empty(0)])
    if not len(known):
        return '<p class="none">No numbers were logged.</p>'
    xs = np.concatenate([line.x for line in chart.lines])
    frame = _Frame(float(xs.min()), float(xs.max()), *_padded(float(known.min()), float(known.max())))
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(_says(chart), quote=True)}">',
        *(_mark(frame, *mark) for mark in chart.marks),
        *_grid(frame, chart.unit),
        *(_ink(frame, line, i) for i, line in enumerate(chart.lines)),
        "</svg>",
    ]
    return "".join(parts)


class _Frame:
    """Where a value stands in the picture."""

    def __init__(self, x_low: float, x_high: float, low: float, high: float) -> None:
        self.x_low, self.x_high, self.low, self.high = x_low, x_high, low, high

    def x(self, value: float) -> float:
        share = (value - self.x_low) / ((self.x_high - self.x_low) or 1.0)
        return LEFT + min(1.0, max(0.0, share)) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return TOP + (self.high - value) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)


def _padded(low: float, high: float) -> tuple[float, float]:
    """The range of the axis. A constant gets 5 % on both sides."""
    if high > low:
        return low, high
    around = abs(low) * 0.05 or 1.0
    return low - around, high + around


def _grid(frame: _Frame, unit: str) -> list[str]:
    lines = []
    for value in (frame.low, frame.high):
        y = frame.y(value)
        lines.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT}" y="{y - 2:.1f}">{escape(say(value, unit))}</text>')
    first, last = f"{frame.x_low:,.0f}", f"{frame.x_high:,.0f}"
    foot = f'<text x="{LEFT}" y="{HEIGHT - 4}">step {first}</text>'
    return [*lines, foot, f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{last}</text>']


def _mark(frame: _Frame, first: int, until: int | None, severity: str) -> str:
    """The steps of a finding: a soft fill and a line on top."""
    left, right = frame.x(first), frame.x(frame.x_high if until is None else until)
    size = f'x="{left:.1f}" width="{max(2.0, right - left):.1f}"'
    height = HEIGHT - TOP - BOTTOM
    return (
        f'<rect class="soft {severity}" {size} y="{TOP}" height="{height}"/>'
        f'<rect class="{severity}" {size} y="{TOP}" height="2"/>'
    )


def _ink(frame: _Frame, line: Line, order: int) -> str:
    drawn = "".join(_stretch(frame, line, part) for part in _stretches(line.mean))
    return f'<g class="line{order}">{drawn}</g>'


def _stretch(frame: _Frame, line: Line, part: slice) -> str:
    x, y = [frame.x(v) for v in line.x[part]], [frame.y(v) for v in line.mean[part]]
    if len(x) == 1:
        return f'<circle cx="{x[0]:.1f}" cy="{y[0]:.1f}" r="2"/>'
    high, low = [frame.y(v) for v in line.high[part]], [frame.y(v) for v in line.low[part]]
    band = [*zip(x, high, strict=True), *reversed([*zip(x, low, strict=True)])]
    return f'<path class="band" d="{_path(band)}Z"/><path d="{_path([*zip(x, y, strict=True)])}"/>'


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _stretches(values: Floats) -> list[slice]:
    """Runs of finite values: a gap breaks the line."""
    finite = np.r_[False, np.isfinite(values), False]
    edges = np.flatnonzero(np.diff(finite.astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _says(chart: Chart) -> str:
    last = chart.lines[0].mean[np.isfinite(chart.lines[0].mean)]
    return f"{chart.title}: {say(float(last[-1]), chart.unit) if len(last) else 'no number'}. {chart.reading}"
