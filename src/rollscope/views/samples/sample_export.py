"""Samples to take away: lines of JSON, Parquet, CSV, or Markdown to read and to send.

A model's text stays text: a Markdown fence is longer than any fence inside it, and characters that
a terminal obeys or an eye cannot see stand there as their codes. In CSV, a text that a spreadsheet
would run as a formula has an apostrophe in front. The other formats are exact.
"""

from __future__ import annotations

import csv as csv_module
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.store.tables import tables
from rollscope.strict_json import plain
from rollscope.visible import csv_cell, visible

Format = Literal["jsonl", "parquet", "csv", "md"]
Rows = list[dict[str, Any]]
Turns = Mapping[str, Rows]  # sample id -> its turns
HIDDEN = ("run", "writer", "attempt")
TURN = ("turn", "role", "tool", "ok", "seconds", "tokens", "stop_reason", "content", "arguments", "result")
FACTS = (  # column, label
    ("step", "step"),
    ("group", "group"),
    ("env", "environment"),
    ("reward", "reward"),
    ("advantage", "advantage"),
    ("completion_tokens", "tokens"),
    ("stop_reason", "stopped by"),
    ("trained", "trained"),
    ("discard_reason", "dropped for"),
)


def exported(run: Run, table: pa.Table, format: Format) -> bytes:
    """Samples in a format, with their turns."""
    samples = rows(table)
    turns_of = turns(run, samples)
    if format == "parquet":
        return _parquet(table, [turns_of.get(sample["id"]) for sample in samples])
    if format == "csv":
        return csv(samples)
    if format == "jsonl":
        text = "".join(jsonl(sample, turns_of.get(sample["id"])) for sample in samples)
    else:
        text = markdown(samples, turns_of)
    return text.encode("utf-8", "replace")


def samples_in_order(run: Run, ids: Sequence[str]) -> pa.Table:
    """The samples with these ids, in this order."""
    table = run.samples(ids=ids, as_arrow=True)
    position = {id: i for i, id in enumerate(ids)}
    read = arrow.numpy(table.select(["id", arrow.ESCAPED]), tables.types("samples"))["id"].tolist()
    order = sorted(range(len(read)), key=lambda i: position[read[i]])
    return table.take(pa.array(order, pa.int64()))


def rows(table: pa.Table, name: str = "samples") -> Rows:
    """Rows of Python values. None: no value was given; NaN: NaN was given."""
    columns: dict[str, Any] = {**arrow.numpy(table, tables.types(name))}
    for column in columns:
        if pa.types.is_integer(table[column].type) or pa.types.is_floating(table[column].type):
            columns[column] = table[column].to_pylist()
    return [{column: values[i] for column, values in columns.items()} for i in range(len(table))]


def turns(run: Run, samples: Iterable[Mapping[str, Any]]) -> dict[str, Rows]:
    """Sample id -> its turns, for samples that have some."""
    turns_of: dict[str, Rows] = {}
    for row in rows(run.turns([sample["id"] for sample in samples], as_arrow=True), "turns"):
        turns_of.setdefault(row["sample"], []).append({name: row[name] for name in TURN})
    return turns_of


def jsonl(row: Mapping[str, Any], turn_rows: Rows | None = None) -> str:
    """One line of JSON without missing values. A lone surrogate is written as JSON's escape."""
    values = {name: value for name, value in _present(row).items() if name not in HIDDEN}
    if turn_rows:
        values["turn_rows"] = [_present(turn) for turn in turn_rows]
    return dumped(values) + "\n"


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plain(value, surrogates=True) for name, value in row.items() if value is not None}


def dumped(value: Any) -> str:
    line = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if re.search("[\ud800-\udfff]", line) else line


def csv(samples: Rows) -> bytes:
    """One row per sample, without turns; lists are JSON, columns without values are left out."""
    text = io.StringIO(newline="")
    named = [name for name in (samples[0] if samples else {}) if name not in HIDDEN or name == "run"]
    used = [name for name in named if any(row[name] is not None for row in samples)]
    writer = csv_module.writer(text)
    writer.writerow(used)
    writer.writerows([_csv_cell(row[name]) for name in used] for row in samples)
    return text.getvalue().encode("utf-8", "replace")


def _csv_cell(value: Any) -> Any:
    value = plain(value)
    return csv_cell(dumped(value) if isinstance(value, list | dict) else value)


def _parquet(table: pa.Table, turn_rows: Sequence[Rows | None]) -> bytes:
    """Samples as the store has them, with turns as JSON.

    Parquet has no text for a lone surrogate: the column `escaped` names the columns that are
    escaped.
    """
    unescaped = table[arrow.ESCAPED].null_count == len(table)
    table = table.drop_columns([arrow.SEQ, arrow.ESCAPED] if unescaped else [arrow.SEQ])
    if any(turn_rows):
        texts = [None if some is None else dumped(plain(some, surrogates=True)) for some in turn_rows]
        table = table.append_column("turn_rows", pa.array(texts, pa.large_string()))
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def markdown(samples: Iterable[Mapping[str, Any]], turns_of: Turns) -> str:
    return visible("\n".join(_sample(row, turns_of.get(row["id"], [])) for row in samples))


def _sample(row: Mapping[str, Any], turn_rows: Rows) -> str:
    facts = [f"{label} {_inline(row[name])}" for name, label in FACTS if row.get(name) is not None]
    sections = [f"## {code(str(row['id']))}\n", ", ".join(facts) + "\n"]
    parts = {**(row.get("rewards") or {}), **(row.get("sample_metrics") or {})}
    if parts:
        lines = "".join(f"| {_cell(name)} | {_cell(value)} |\n" for name, value in parts.items())
        sections.append("| part | value |\n|---|---|\n" + lines)
    answer = [_turn(turn) for turn in turn_rows] or [("completion", row.get("completion"))]
    blocks = [("prompt", row.get("prompt")), *answer, ("reference answer", row.get("answer"))]
    sections += [f"**{label}**\n\n{fenced(str(text))}" for label, text in blocks if text]
    return "\n".join(sections)


def _turn(turn: Mapping[str, Any]) -> tuple[str, Any]:
    """Label and text of a turn."""
    tool = f", {_inline(turn['tool'])}" if turn["tool"] else ""
    label = f"{_inline(turn['role'] or 'turn')}{tool}{', failed' if turn['ok'] is False else ''}"
    return label, "\n".join(str(turn[name]) for name in ("content", "arguments", "result") if turn[name])


def fenced(text: str, kind: str = "") -> str:
    """The text in a fence that nothing inside can close."""
    longest = max((len(ticks) for ticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}\n"


def _cell(value: Any) -> str:
    return _inline(value).replace("|", "\\|")


def _inline(value: Any) -> str:
    """A value in a line: plain words and numbers as they are, anything else as code."""
    text = str(plain(value))
    return text if re.fullmatch(r"[\w .,:/+-]*", text) else code(text)


def code(text: str) -> str:
    """Inline code on one line, between more backticks than the text has in a row."""
    line = " ".join(text.split())
    ticks = "`" * (max((len(ticks) for ticks in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"
