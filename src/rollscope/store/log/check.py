"""Check that a block says what its head promises, before anything is computed from it.

A block may be whole and still be nonsense: another program wrote it, or a version that does not
exist yet. What passes here fits the types of `schema.py`, so no reader needs to look again. A
column that this version does not know is left out: a newer one may add some.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rollscope.store.schema import TABLES

from .block import Block, Labels, Metrics, Table
from .column import LISTS, NULL, NUMBERS, Cells

MOST_ROWS = 1 << 20  # of a block that holds fewer bytes than rows
MOST_REPEATED = 1 << 30  # bytes of a text that all rows have in common
MOST_NUMBER = 1 << 31  # of an attempt or a rank
_TYPES = {table: {column.name: column.type for column in columns} for table, columns in TABLES.items()}
_CONSTANTS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "json": (str,),
    "bool": (bool,),
    "int64": (int,),
    "float64": (float, int),
}
# numbers in the state of a kind; other kinds have as many as they need
STATE_LENGTHS = {
    **dict.fromkeys(("mean", "ratio", "sum", "counter", "int"), 2),
    **dict.fromkeys(("moments", "std", "std0", "extremes", "max", "min", "last"), 3),
}


def checked(block: Block) -> Block:
    """The block without columns of a newer version. Raises ValueError if it is not sound."""
    if isinstance(block, Metrics):
        _check_metrics(block)
        return _with_plain_words(block)
    if isinstance(block, Table):
        return _checked_table(block)
    _expect(isinstance(block.what, str) and isinstance(block.facts, dict), "its facts are no mapping")
    return block


def _expect(condition: bool, says: str) -> None:
    if not condition:
        raise ValueError(says)


# ---- metrics


def _check_metrics(block: Metrics) -> None:
    _expect(_are_texts(block.names) and _are_texts(block.kinds), "its names or kinds are no list of texts")
    _expect(len(block.names) == len(block.kinds), "it has another number of kinds than of names")
    _check_labels(block.labels)
    if block.index is not None:
        lengths = {len(part) for part in (block.step, block.time_ns, block.index, block.values)}
        _expect(len(lengths) == 1, "its columns have different lengths")
        _expect(not len(block.index) or int(block.index.max()) < len(block.names), "a value has no name")
    if block.lengths is not None and block.states is not None:
        _expect(
            int(block.lengths.sum(dtype=np.int64)) == len(block.states), "its states have another length than it says"
        )
        _check_states(block, block.lengths)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is str for value in values)


def _check_labels(labels: Labels) -> None:
    numbers = (labels.attempt, labels.rank)
    _expect(
        all(type(number) is int and -1 <= number < MOST_NUMBER for number in numbers), "its attempt or rank is no count"
    )
    words = (labels.env, labels.split, labels.clock)
    _expect(all(word is None or type(word) is str for word in words), "its environment, split or clock is no text")


def _check_states(block: Metrics, lengths: np.ndarray[Any, np.dtype[np.uint32]]) -> None:
    """A partial has as many numbers as its kind needs."""
    needed = np.array([STATE_LENGTHS.get(kind, -1) for kind in block.kinds])
    needed = needed if block.index is None else needed[block.index]
    _expect(bool(((lengths == needed) | (needed < 0)).all()), "a state does not fit its kind")


def _with_plain_words(block: Metrics) -> Metrics:
    """Kinds and labels as texts that Arrow has: a lone surrogate becomes its `\\udXXX`."""
    words = [*block.kinds, *filter(None, (block.labels.env, block.labels.split, block.labels.clock))]
    if "".join(words).isascii():
        return block
    label = block.labels
    plain = replace(label, env=_plain(label.env), split=_plain(label.split), clock=_plain(label.clock))
    return replace(block, kinds=[_plain(kind) for kind in block.kinds], labels=plain)


def _plain(word: Any) -> Any:
    return None if word is None else word.encode("utf-8", "backslashreplace").decode()


# ---- tables


def _checked_table(block: Table) -> Table:
    _expect(type(block.table) is str and block.table in _TYPES, f"there is no table {block.table!r}")
    size = sum(len(part) for cells in block.columns.values() for part in cells.parts)
    _expect(type(block.rows) is int and 0 <= block.rows <= max(size, MOST_ROWS), "it cannot have so many rows")
    types = _TYPES[block.table]
    for name in block.columns.keys() & types.keys():
        cells = block.columns[name]
        _expect(cells.type == types[name], f"the column {name!r} has the type {cells.type!r}, not {types[name]!r}")
        _expect(_fits(cells), f"the column {name!r} does not fit its rows")
    return replace(block, columns={name: cells for name, cells in block.columns.items() if name in types})


def _fits(cells: Cells) -> bool:
    """True if the parts of a column are what its type and encoding need."""
    if cells.encoding == "const":
        return cells.const is None or _is_constant(cells)
    if cells.encoding == "dict":
        return cells.type in ("string", "json") and _are_words(cells)
    if cells.type in NUMBERS:
        return _lengths_are(cells, 8 * cells.rows) or _lengths_are(cells, 8 * cells.rows, cells.rows)
    if cells.type == "bool":
        return _lengths_are(cells, cells.rows) and max(cells.parts[0], default=0) <= 2
    if cells.type in LISTS:
        return _are_cells(cells.parts, cells.rows, np.dtype(LISTS[cells.type]).itemsize)
    return _are_cells(cells.parts, cells.rows) and _are_readable(cells)


def _is_constant(cells: Cells) -> bool:
    value = cells.const
    if cells.type in LISTS:
        return isinstance(value, list) and np.array(value, LISTS[cells.type]).ndim == 1
    if type(value) not in _CONSTANTS[cells.type]:
        return False
    if cells.type == "int64":
        return bool(-(2**63) <= value < 2**63)
    return not isinstance(value, str) or len(value) * cells.rows <= MOST_REPEATED


def _lengths_are(cells: Cells, *lengths: int) -> bool:
    return tuple(map(len, cells.parts)) == lengths


def _are_cells(parts: list[memoryview], rows: int, size: int = 1) -> bool:
    """True if the first part has the lengths of `rows` cells, and the second one their content."""
    if len(parts) != 2 or len(parts[0]) != 4 * rows:
        return False
    lengths = np.frombuffer(parts[0], "<u4")
    return int(lengths[lengths != NULL].sum(dtype=np.int64)) * size == len(parts[1])


def _are_words(cells: Cells) -> bool:
    if len(cells.parts) != 3 or len(cells.parts[0]) != 4 * cells.rows:
        return False
    codes, words = np.frombuffer(cells.parts[0], "<u4"), len(cells.parts[1]) // 4
    return (
        bool(((codes < words) | (codes == NULL)).all()) and _are_cells(cells.parts[1:], words) and _are_readable(cells)
    )


def _are_readable(cells: Cells) -> bool:
    """True if every text is UTF-8, or may have lone surrogates and says so."""
    if cells.encoding != "plain" or not _is_cut_between_characters(cells.parts):
        cells.values()  # raises for what cannot be read
        return cells.encoding in ("wtf8", "dict")
    str(cells.parts[1], "utf-8")
    return True


def _is_cut_between_characters(parts: list[memoryview]) -> bool:
    """True if no text begins inside a character. Texts one after the other are then all UTF-8."""
    lengths = np.frombuffer(parts[0], "<u4")
    starts = np.cumsum(np.where(lengths == NULL, 0, lengths), dtype=np.int64)[:-1]
    data = np.frombuffer(parts[1], np.uint8)
    return not ((data[starts[starts < len(data)]] & 0xC0) == 0x80).any()
