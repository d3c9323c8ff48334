"""A set as a file: JSON lines, CSV, Parquet, an Inspect log, or a folder for `datasets`, zipped."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from rollscope.errors import BadInput, nearest
from rollscope.store import arrow
from rollscope.strict_json import plain
from rollscope.views.samples.sample_export import csv, dumped

from .collected import Collected, said
from .inspect_log import inspect_log

SetFormat = Literal["jsonl", "csv", "parquet", "inspect", "hf"]
FORMATS: tuple[SetFormat, ...] = get_args(SetFormat)
ENDINGS: dict[SetFormat, str] = {
    "jsonl": ".jsonl",
    "csv": ".csv",
    "parquet": ".parquet",
    "inspect": ".json",
    "hf": ".zip",
}
LEFT_OUT = ("writer", "attempt", arrow.ESCAPED)
SHARD = "data/train-00000-of-00001.parquet"


def exported(found: Collected, format: str) -> bytes:
    """The set in a format; the folder of `hf` as a zip file."""
    make = _MAKE.get(format)
    if make is None:
        raise BadInput(f"no format {format[:40]!r}; there are: {', '.join(FORMATS)}.{nearest(format, FORMATS)}")
    return make(found)


def folder(found: Collected) -> dict[str, bytes]:
    """The files of a folder that `datasets.load_dataset` reads: a card and the samples."""
    return {"README.md": _card(found).encode(), SHARD: _parquet(found)}


def _jsonl(found: Collected) -> bytes:
    return "".join(dumped(row) + "\n" for row in _present(found)).encode("utf-8", "replace")


def _csv(found: Collected) -> bytes:
    return csv([{**row, **said(marks)} for row, marks in zip(found.rows, found.marks, strict=True)])


def _parquet(found: Collected) -> bytes:
    """The samples with their marks. Turns, and what the store keeps as JSON, stay JSON texts."""
    table = found.table
    if table[arrow.ESCAPED].null_count == len(table):
        table = table.drop_columns([arrow.ESCAPED])
    table = table.drop_columns([name for name in ("writer", "attempt") if name in table.column_names])
    marks = [said(one) for one in found.marks]
    table = table.append_column("star", pa.array([one["star"] for one in marks], pa.bool_()))
    for name in ("labels", "comments"):
        table = table.append_column(name, pa.array([one[name] for one in marks], pa.list_(pa.string())))
    texts = [dumped(plain(turns, surrogates=True)) if turns else None for turns in found.turns]
    table = table.append_column("turn_rows", pa.array(texts, pa.large_string()))
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def _inspect(found: Collected) -> bytes:
    return dumped(inspect_log(found)).encode("utf-8", "replace")


def _zip(found: Collected) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in folder(found).items():
            archive.writestr(name, data)
    return file.getvalue()


def _present(found: Collected) -> list[dict[str, Any]]:
    """Rows without missing values, with turns and marks."""
    lines = []
    for row, turns, marks in zip(found.rows, found.turns, found.marks, strict=True):
        line = {name: value for name, value in row.items() if name not in LEFT_OUT}
        lines.append(_known({**line, "turn_rows": [_known(turn) for turn in turns] or None, **said(marks)}))
    return lines


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plain(value, surrogates=True) for name, value in row.items() if value is not None}


def _card(found: Collected) -> str:
    runs = sorted({row["run"] for row in found.rows})
    labels = sorted({label for marks in found.marks for label in marks["labels"]})
    about = [
        f"{len(found.rows):,} samples of {len(runs)} {'run' if len(runs) == 1 else 'runs'}, collected with Rollscope.",
        f"Runs: {', '.join(map(_code, runs))}.",
        f"Labels: {', '.join(map(_code, labels))}." if labels else "No sample has a label.",
        "`rewards`, `sample_metrics`, `tags`, `messages` and `turn_rows` are JSON texts.",
    ]
    head = [
        "---",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        "    path: data/*.parquet",
    ]
    return "\n".join([*head, "---", "", f"# {_code(found.name)}", "", "\n\n".join(about), ""])


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"


_MAKE: dict[str, Callable[[Collected], bytes]] = {
    "jsonl": _jsonl,
    "csv": _csv,
    "parquet": _parquet,
    "inspect": _inspect,
    "hf": _zip,
}
