"""Samples as text to take away: a line of JSON each, or Markdown for a person. What a model wrote stays text: fences are longer than any in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from rollscope.store import arrow
from rollscope.store.tables import tables
from rollscope.strict_json import plain

HIDDEN = ("run", "writer", "attempt")
TURN = ("turn", "role", "tool", "ok", "seconds", "tokens", "stop_reason", "content", "arguments", "result")
Rows = list[dict[str, Any]]


def rows(found: pa.Table, table: str = "samples") -> Rows:
    """Rows of Python values; None is what was not said, a NaN was."""
    columns: dict[str, Any] = {**arrow.numpy(found, tables.types(table))}
    for name in columns:
        if pa.types.is_integer(found[name].type) or pa.types.is_floating(found[name].type):
            columns[name] = found[name].to_pylist()
    return [{name: values[i] for name, values in columns.items()} for i in range(len(found))]


def turns(run: Any, samples: Iterable[Mapping[str, Any]]) -> dict[str, Rows]:
    """What was said in these samples, turn by turn: id -> its turns, for those that have some."""
    out: dict[str, Rows] = {}
    for row in rows(run.turns([sample["id"] for sample in samples], as_arrow=True), "turns"):
        out.setdefault(row["sample"], []).append({name: row[name] for name in TURN})
    return out


def jsonl(row: Mapping[str, Any], turns: Rows | None = None) -> str:
    """One line: what is known about a sample, nothing that is not; a half of a character, which UTF-8 has no bytes for, as JSON's own escape."""
    said = {
        name: plain(value, surrogates=True) for name, value in row.items() if name not in HIDDEN and value is not None
    }
    if turns:
        said["turn_rows"] = [
            {name: plain(value, surrogates=True) for name, value in turn.items() if value is not None} for turn in turns
        ]
    return dumped(said) + "\n"


def dumped(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if re.search("[\ud800-\udfff]", line) else line


def fenced(text: str, kind: str = "") -> str:
    """The text in a fence that nothing inside can close."""
    longest = max((len(ticks) for ticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}\n"


def markdown(samples: Iterable[Mapping[str, Any]], turns: Mapping[str, Rows]) -> str:
    return "\n".join(_sample(row, turns.get(row["id"], [])) for row in samples)


def _sample(row: Mapping[str, Any], turns: Rows) -> str:
    facts = [f"{label} {_inline(row[name])}" for name, label in FACTS if row.get(name) is not None]
    parts = [f"## {code(str(row['id']))}\n", ", ".join(facts) + "\n"]
    components = {**(row.get("rewards") or {}), **(row.get("sample_metrics") or {})}
    if components:
        parts.append(
            "| part | value |\n|---|---|\n" + "".join(f"| {_cell(k)} | {_cell(v)} |\n" for k, v in components.items())
        )
    said = [_turn(turn) for turn in turns] or [("completion", row.get("completion"))]
    blocks = [("prompt", row.get("prompt")), *said, ("reference answer", row.get("answer"))]
    parts += [f"**{label}**\n\n{fenced(str(text))}" for label, text in blocks if text]
    return "\n".join(parts)


FACTS = (("step", "step"), ("group", "group"), ("env", "environment"), ("reward", "reward"), ("advantage", "advantage"), ("completion_tokens", "tokens"), ("stop_reason", "stopped by"), ("trained", "trained"), ("discard_reason", "dropped for"))  # fmt: skip


def _turn(turn: Mapping[str, Any]) -> tuple[str, Any]:
    tool = f", {_inline(turn['tool'])}" if turn["tool"] else ""
    label = f"{_inline(turn['role'] or 'turn')}{tool}{', failed' if turn['ok'] is False else ''}"
    return label, "\n".join(str(turn[name]) for name in ("content", "arguments", "result") if turn[name])


def _cell(value: Any) -> str:
    return _inline(value).replace("|", "\\|")


def _inline(value: Any) -> str:
    """A value in a line: plain words and numbers as they are, all else as code, where a reader's Markdown sees no markup."""
    said = str(plain(value))
    return said if re.fullmatch(r"[\w .,:/+-]*", said) else code(said)


def code(text: str) -> str:
    """On one line, between more backticks than it has."""
    line = " ".join(text.split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"
