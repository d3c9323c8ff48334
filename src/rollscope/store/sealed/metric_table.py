"""Convert metric rows to an Arrow table of the schema, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rollscope.store import arrow
from rollscope.store.live import scope
from rollscope.store.numbers.rows import Codes, NamedRows, Rows, States, Words

FEW = ("step", "time_ns", "value")
READ = ("step", "time_ns", "value", "weight", "kind", "writer", arrow.SEQ, "rank", "attempt", "env", "split", "clock")


def table(named: NamedRows, words: Words, run: str) -> pa.Table:
    rows, n = named.rows, len(named.rows)
    envs, splits, clocks = zip(*(scope.parts(word) for word in words.words), strict=True)
    texts, bad = arrow.strings(named.names)
    flags = pa.array(["name" if i in set(bad) else None for i in range(len(texts))], arrow.TYPES["string"])
    columns: dict[str, Any] = {
        "run": pa.repeat(pa.scalar(run, arrow.TYPES["string"]), n),
        "step": pa.array(rows.step),
        "time_ns": pa.array(rows.time_ns),
        "name": texts.take(pa.array(named.name)),
        "value": pa.array(rows.value),
        "weight": pa.array(rows.weight, mask=np.isnan(rows.weight)),
        "kind": _words(rows.kind, words.words),
        "state": _states(rows.state),
        "writer": _words(rows.writer, words.words),
        "rank": pa.array(rows.rank, mask=rows.rank < 0),
        "attempt": pa.array(rows.attempt),
        "env": _words(rows.scope, envs),
        "split": _words(rows.scope, splits),
        "clock": _words(rows.scope, clocks),
        arrow.ESCAPED: flags.take(pa.array(named.name)),
        arrow.SEQ: pa.array(rows.seq),
    }
    want = arrow.schema(arrow.fields("metrics"))
    return pa.table([columns[f.name] for f in want], schema=want)


def _words(codes: Codes, words: Sequence[str]) -> pa.Array:
    return pa.array([word or None for word in words], arrow.TYPES["string"]).take(pa.array(codes))


def _states(state: States) -> pa.Array:
    starts = np.concatenate([np.zeros(1, np.int64), state.ends])
    empty = np.diff(starts) == 0
    valid = pa.py_buffer(np.packbits(~empty, bitorder="little"))
    flat = pa.array(np.ascontiguousarray(state.flat))
    buffers = [valid, pa.py_buffer(starts)]
    return pa.LargeListArray.from_buffers(arrow.TYPES["float64[]"], len(empty), buffers, int(empty.sum()), 0, [flat])


def rows(table: pa.Table, words: Words) -> Rows:
    """Rows of a table that has the columns of `READ`, and `state` if states are needed."""
    n = len(table)
    return Rows(
        step=arrow.numbers(table["step"]),
        time_ns=arrow.numbers(table["time_ns"]),
        value=arrow.numbers(table["value"]),
        weight=arrow.filled(table["weight"], np.nan) if table["weight"].null_count < n else np.full(n, np.nan),
        kind=_codes(table["kind"], words),
        writer=_codes(table["writer"], words),
        seq=arrow.numbers(table[arrow.SEQ]),
        rank=arrow.filled(table["rank"], -1),
        attempt=arrow.numbers(table["attempt"]),
        scope=_scopes(table, words),
        state=_flat(table["state"]) if "state" in table.column_names else States.none(n),
    )


def named_rows(table: pa.Table, words: Words) -> NamedRows:
    """Rows of a table that has the columns `name`, encoded by dictionary, and `escaped` too."""
    codes: dict[str, int] = {}
    flags = table[arrow.ESCAPED]
    if flags.null_count < len(table):
        pairs = zip(table["name"].to_pylist(), flags.to_pylist(), strict=True)
        names = (arrow.unescape(text) if flag else text for text, flag in pairs)
        index = np.array([codes.setdefault(name, len(codes)) for name in names], np.int32)
        return NamedRows(list(codes), index, rows(table, words))
    parts = [np.empty(0, np.int32)]
    for chunk in table["name"].fill_null("").chunks if table["name"].null_count else table["name"].chunks:
        chunk = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        own = [codes.setdefault(name, len(codes)) for name in chunk.dictionary.to_pylist()]
        parts.append(np.array(own, np.int32)[chunk.indices.to_numpy()])
    return NamedRows(list(codes), np.concatenate(parts), rows(table, words))


def _codes(column: pa.ChunkedArray, words: Words) -> Codes:
    if column.null_count == len(column):
        return np.zeros(len(column), np.int32)
    parts = []
    for chunk in column.chunks:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        known = np.append(words.codes(encoded.dictionary.to_pylist()), np.int32(0))
        parts.append(known[arrow.filled(encoded.indices, len(known) - 1)])
    return np.concatenate(parts)


def _scopes(table: pa.Table, words: Words) -> Codes:
    env, split, clock = (_codes(table[name], words) for name in ("env", "split", "clock"))
    if not env.any() and not clock.any() and (split == words.code("train")).all():
        return np.zeros(len(table), np.int32)
    triples, inverse = np.unique(np.stack([env, split, clock], axis=1), axis=0, return_inverse=True)
    codes = [words.code(scope.word(*(words.words[code] for code in triple))) for triple in triples.tolist()]
    return np.array(codes, np.int32)[inverse.ravel()]


def _flat(column: pa.ChunkedArray) -> States:
    if column.null_count == len(column):
        return States.none(len(column))
    parts = []
    for chunk in column.chunks:
        lengths = np.where(arrow.missing(chunk), 0, np.diff(chunk.offsets.to_numpy())).astype(np.int64)
        parts.append(States(chunk.flatten().to_numpy(zero_copy_only=False), np.cumsum(lengths)))
    return States.join(parts)
