"""Answers of a second reader, written from docs/format.md: rows that count, folded and merged."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import numpy as np

from tests.store.second_partials import added
from tests.store.second_reader import Reader, Row

PLAIN = ("scalar", "int")
HIGHEST = ("end_ns", "attempt", "explore_step", "env_steps", "tokens", "samples", "epoch", "policy_version")


def first_steps(run: Reader) -> dict[int, int]:
    """Attempt -> the first step that is its own, for every attempt after the first."""
    first: dict[int, int] = {}
    for row in run.tables.get("metrics", []):
        if row.get("clock") is None:
            first[row["attempt"]] = min(row["step"], first.get(row["attempt"], row["step"]))
    first.pop(min(first, default=0), None)
    said = {
        one["attempt"]: one["resumed_from"] + 1
        for one in run.facts.get("attempts", ())
        if one["resumed_from"] is not None
    }
    return first | said


def counts(row: Row, first: dict[int, int]) -> bool:
    """Is the row part of the line, not history?"""
    return "step" not in row or all(row["attempt"] >= newer or row["step"] < step for newer, step in first.items())


def table(run: Reader, name: str) -> list[Row]:
    """The rows of a table that count."""
    rows = run.tables.get(name, [])
    return rows if name in ("spans", "host", "notes") else [row for row in rows if counts(row, first_steps(run))]


def folded(rows: list[Row], *keys: str) -> list[Row]:
    """Rows with the same keys are one: later ones fill in or replace, but the first time stays."""
    found: dict[tuple[Any, ...], Row] = {}
    many = len({row["writer"] for row in rows}) > 1
    for row in sorted(rows, key=lambda row: (row["attempt"], row.get("time_ns", 0) if many else 0, row["seq"])):
        one = found.setdefault(tuple(row[key] for key in keys), {})
        one |= row | {"time_ns": one.get("time_ns", row.get("time_ns"))}
    return list(found.values())


def samples(run: Reader) -> list[Row]:
    within = folded(run.tables.get("samples", []), "id", "attempt")
    return folded([row for row in within if counts(row, first_steps(run))], "id")


def steps(run: Reader) -> list[Row]:
    """One row per step: the earliest time, the highest of everything else."""
    found: dict[int, Row] = {}
    for row in table(run, "steps"):
        one = found.setdefault(row["step"], {"step": row["step"], "time_ns": row["time_ns"]})
        one["time_ns"] = min(one["time_ns"], row["time_ns"])
        one |= {name: max(row[name], one.get(name, row[name])) for name in HIGHEST if name in row}
    return [found[step] for step in sorted(found)]


def facts(run: Reader) -> Row:
    """`run.json`, filled in by the rows of `runs`."""
    found = dict(run.facts)
    for row in sorted(run.tables.get("runs", []), key=lambda row: (row["attempt"], row["seq"])):
        found |= {name: value for name, value in row.items() if name not in ("run", "writer", "seq")}
    return found


def state(run: Reader) -> str | None:
    """How the run ended, if it says so."""
    rows = run.tables.get("runs", [])
    newest = max((row["attempt"] for row in rows), default=0)
    last = {
        row["writer"]: row["state"]
        for row in sorted(rows, key=lambda row: int(row["seq"]))
        if row["attempt"] == newest and "state" in row
    }
    return next((word for word in ("crashed", "finished") if word in last.values()), None)


def chosen(rows: list[Row], env: str | None = None, split: str | None = None) -> list[Row]:
    """The rows of one clock, then of one split, then of one environment."""
    for key, ask, plain in (("clock", None, ""), ("split", split, "train"), ("env", env, "")):
        said = {row.get(key) or "" for row in rows}
        choice = (
            ask if ask is not None else plain if plain in said else None if key == "env" else min(said, default=None)
        )
        rows = [row for row in rows if choice is None or (row.get(key) or "") == choice]
    return rows


def series(run: Reader, name: str, env: str | None = None, split: str | None = None) -> list[Row]:
    """One row per step of a metric."""
    rows = chosen([row for row in run.tables["metrics"] if row["name"] == name], env, split)
    first = first_steps(run) if all(row.get("clock") is None for row in rows) else own_first_steps(rows)
    ordered = sorted(
        (row for row in rows if counts(row, first)),
        key=lambda row: (row["step"], row["writer"], row["time_ns"], row["seq"]),
    )
    found = [at_step(list(group)) for _, group in groupby(ordered, lambda row: row["step"])]
    return going_on(found) if all(row["kind"] == "counter" for row in ordered) else found


def going_on(counters: list[Row]) -> list[Row]:
    """Counters as totals: never less than the one before and what was added to it."""
    total = -np.inf
    for row in counters:
        total = max(row["value"] - row["weight"], total) + row["weight"]
        row |= {"value": total, "min": total, "max": total}
    return counters


def own_first_steps(rows: Iterable[Row]) -> dict[int, int]:
    first: dict[int, int] = {}
    for row in rows:
        first[row["attempt"]] = min(row["step"], first.get(row["attempt"], row["step"]))
    first.pop(min(first, default=0), None)
    return first


def at_step(rows: list[Row]) -> Row:
    """What the rows of one step say together: those of the kind that was written last."""
    kind = max(reversed(rows), key=lambda row: int(row["time_ns"]))["kind"]  # of equal times the one further down
    rows = [row for row in rows if row["kind"] == kind or (kind in PLAIN and row["kind"] in PLAIN)]
    found = {"step": rows[0]["step"], "time_ns": max(row["time_ns"] for row in rows)}
    if len(rows) > 1 and kind not in PLAIN:
        value, weight = added(kind, [row.get("state", []) for row in rows])
        return found | {"value": value, "weight": weight, "min": value, "max": value}
    latest = list({row["writer"]: row for row in rows}.values())
    values = [row["value"] for row in latest]
    found |= {
        "value": sum(values[1:], values[0]) / len(values),
        "weight": rows[0].get("weight"),
        "min": float(np.fmin.reduce(values)),
        "max": float(np.fmax.reduce(values)),
    }
    return found | ({"exact": exact(rows[0]["state"])} if len(rows) == 1 and kind == "int" else {})


def exact(state: list[float]) -> int:
    return (int(state[0]) << 32) | int(state[1])
