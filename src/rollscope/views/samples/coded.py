"""Text columns of samples as codes and words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store import arrow
from rollscope.store.tables import tables

Codes = NDArray[np.uint32]


def coded(rows: pa.Table, *columns: str) -> tuple[Codes, list[str]]:
    """For each row the first of these texts it has, as an index into the list of distinct words."""
    if _has_escapes(rows, columns):
        return _coded_unescaped(rows, columns)
    column = pc.coalesce(*(rows[name].cast(pa.large_string()) for name in columns))
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.uint32), encoded.dictionary.to_pylist()


def _has_escapes(rows: pa.Table, columns: Sequence[str]) -> bool:
    """Is one of these columns escaped in some row, because of a lone surrogate?"""
    flags = pc.unique(rows[arrow.ESCAPED].drop_null()).to_pylist()
    return any(name in flag.split(",") for flag in flags for name in columns)


def _coded_unescaped(rows: pa.Table, columns: Sequence[str]) -> tuple[Codes, list[str]]:
    texts = [_texts(rows, name) for name in columns]
    chosen = [next((text for text in row if text is not None), "") for row in zip(*texts, strict=True)]
    words = list(dict.fromkeys(chosen))
    code = {word: i for i, word in enumerate(words)}
    return np.array([code[word] for word in chosen], np.uint32), words


def _texts(rows: pa.Table, name: str) -> list[str | None]:
    columns = arrow.numpy(rows.select([name, arrow.ESCAPED]), tables.types("samples"), parse=False)
    return columns[name].tolist()  # type: ignore[no-any-return]
