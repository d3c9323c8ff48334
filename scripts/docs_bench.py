"""docs/bench.md:
the latest figure of every benchmark, and the README's short table, from bench/results.csv.
"""

from __future__ import annotations

import csv
from pathlib import Path

ROOT = Path(__file__).parent.parent
PEERS = ("trackio", "wandb", "tensorboard", "swanlab", "mlflow")
README = (  # what a reader of the README wants to know first
    "log 200 floats, hot",
    "log 200 floats, 10 a second",
    "log 200 torch scalars, hot",
    "until durable",
    "bytes per scalar on disk, random doubles",
    "rows lost by kill -9 of 1,000 at 500 rows/s",
)
OPENING, CLOSING = "<!-- bench -->", "<!-- /bench -->"
PREDICTED = "<!-- bench: predictions -->"
Row = dict[str, str]


def latest() -> dict[tuple[str, str], Row]:
    """The last row of each measurement; the file is in the order of time."""
    with (ROOT / "bench" / "results.csv").open(encoding="utf-8", newline="") as file:
        return {(row["what"], row["unit"]): row for row in csv.DictReader(file)}


def page() -> str:
    out = [
        "# Benchmarks",
        "",
        "Made from `bench/results.csv` by `make docs`; `make bench` measures again. Each figure is the median of n "
        "measurements of the latest run, with the machine it was taken on. Figures of different machines are not "
        "comparable, ratios within one run are.",
        "",
    ]
    by_machine: dict[str, list[Row]] = {}
    for row in latest().values():
        by_machine.setdefault(row["hardware"], []).append(row)
    for machine, rows in by_machine.items():
        out += [f"## {machine}", "", "| what | median | p20 to p80 | n | commit |", "|---|--:|--:|--:|---|"]
        out += [
            f"| {r['what']} | {r['p50']} {r['unit']} | {r['p20']} to {r['p80']} | {r['n']} | {r['commit']} |"
            for r in sorted(rows, key=lambda r: r["what"])
        ]
        out.append("")
    return "\n".join(out)


def readme() -> str:
    """The README with its table made again:
    for each line the latest run that has our figure, and the others' figures of that same run.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(OPENING)
    return before + OPENING + "\n" + "\n".join(_table()) + "\n" + CLOSING + rest.partition(CLOSING)[2]


def _table() -> list[str]:
    rows = {what: row for (what, _), row in latest().items()}
    ours = {what: rows[f"rollscope: {what}"] for what in README if f"rollscope: {what}" in rows}
    rows = {
        f"{peer}: {what}": row
        for what in ours
        for peer in PEERS
        if (row := rows.get(f"{peer}: {what}")) and _same_run(row, ours[what])
    }
    peers = [peer for peer in PEERS if any(f"{peer}: {what}" in rows for what in ours)]
    out = [f"| | Rollscope | {' | '.join(peers)} |", f"|---|--:|{'--:|' * len(peers)}"]
    for what, row in ours.items():
        out.append(
            f"| {what} | {_figure(row)} | " + " | ".join(_cell(rows.get(f"{peer}: {what}")) for peer in peers) + " |"
        )
    return [
        *out,
        "",
        "Medians of the latest run of `bench/record.py`, the same work for all on one machine. "
        "Every figure with hardware and spread: [docs/bench.md](docs/bench.md).",
    ]


def timeline() -> str:
    """docs/timeline.md with its table of predictions made again."""
    text = (ROOT / "docs" / "timeline.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(PREDICTED)
    return before + PREDICTED + "\n" + "\n".join(_predictions()) + "\n" + CLOSING + rest.partition(CLOSING)[2]


def _predictions() -> list[str]:
    rows = {what: row for (what, _), row in latest().items()}
    changes = [what.rpartition(", ")[2] for what in rows if what.startswith("timeline: predicted step, ")]
    if not changes:
        return ["Nothing is measured yet: `python bench/timeline.py --only predictions`."]
    out = ["| change | predicted | measured | error | its p80 | seeds |", "|---|--:|--:|--:|--:|--:|"]
    for change in changes:
        predicted, measured, error = (
            rows[f"timeline: {what}, {change}"] for what in ("predicted step", "measured step", "error")
        )
        errors = f"{error['p50']} % | {error['p80']} % | {error['n']}"
        out.append(f"| {change} | {_figure(predicted)} | {_figure(measured)} | {errors} |")
    return [*out, "", "Medians over seeds, seconds a step, of the latest run of `bench/timeline.py`."]


def _same_run(a: Row, b: Row) -> bool:
    return all(a[key] == b[key] for key in ("time", "commit", "hardware"))


def _cell(row: Row | None) -> str:
    return _figure(row) if row else "–"


def _figure(row: dict[str, str]) -> str:
    """Three digits, thousands apart: `16,400 us`, `5.44 M points/s`."""
    value = float(row["p50"])
    return f"{float(f'{value:.3g}'):,.0f} {row['unit']}" if value >= 100 else f"{value:.3g} {row['unit']}"
