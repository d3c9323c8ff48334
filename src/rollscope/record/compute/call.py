"""One `log_batch`: what it gives one by one for its samples, and what holds for the whole step.

`facts` are the paths of what it gives for each sample, such as `logp` or `rewards/format`. Keys
that say who a sample is or where its tokens are, `REPEATED`, are no facts: several calls may give
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rollscope.catalog.compute.shape import is_single
from rollscope.catalog.keys import KEYS, SAMPLE_LEVELS, TOKEN_LEVELS, Key
from rollscope.catalog.partials.per_group import id_text
from rollscope.record.caller.batch import Ready
from rollscope.record.caller.batch import size as bytes_of
from rollscope.record.caller.device import array, is_tensor

WHO = ("sample", "task", "group", "repeat", "env")
MASKS = ("action_mask", "mask", "valid_mask")
REPEATED = frozenset((*WHO, *MASKS, "lengths"))
Marks = dict[str, np.ndarray[Any, Any]]


@dataclass(slots=True, eq=False)
class Call:
    """A copy of a batch, sorted. `size` is its number of samples, None if it speaks of none."""

    time_ns: int
    ready: Ready
    size: int | None
    rows: dict[str, Any]  # one value, or row of tokens, per sample
    whole: dict[str, Any]  # everything else, and what does not fit, for `compute` to report
    facts: frozenset[str] = frozenset()
    bytes: int = 0  # of its rows
    computed: bool = False
    _marks: Marks | None = field(default=None, repr=False)

    @classmethod
    def of(cls, batch: Mapping[str, Any], ready: Ready, time_ns: int) -> Call:
        from rollscope.catalog import families  # noqa: F401  # fills KEYS; keeps the import light

        size = _size(batch)
        rows = {} if size is None else {name: x for name, x in batch.items() if _is_per_sample(name, x, size, batch)}
        whole = {name: x for name, x in batch.items() if name not in rows}
        facts = frozenset(path for name in rows if name not in REPEATED for path in _paths(name, rows[name]))
        return cls(time_ns, ready, size, rows, whole, facts, bytes_of(rows))

    @property
    def has_device_values(self) -> bool:
        return self.ready.is_needed

    def marks(self) -> Marks:
        """What each repeated key says of each sample, in a form that can be compared."""
        if self._marks is None:
            marks = {name: _mark(name, self.rows) for name in self.rows if name in REPEATED}
            self._marks = {name: mark for name, mark in marks.items() if mark is not None and len(mark) == self.size}
        return self._marks

    def forget_tokens(self, on_device_only: bool) -> None:
        """Let go of token arrays; what the call speaks of stays known."""
        self.marks()
        self.ready.forget()
        for name in [name for name in self.rows if KEYS[name].level in TOKEN_LEVELS]:
            if not on_device_only or is_on_device(self.rows[name]):
                self.bytes -= bytes_of(self.rows.pop(name))


def is_on_device(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and is_on_device(value[0])
    return is_tensor(value) and bool(value.is_cuda)


def _size(batch: Mapping[str, Any]) -> int | None:
    """The number of samples, by the key that decides it in `compute`: lengths, tokens, others."""
    known = [(KEYS[name], x) for name, x in batch.items() if name in KEYS and x is not None]
    packed = batch.get("lengths") is not None
    tokens = [
        x for key, x in known if key.level in TOKEN_LEVELS and not key.per_sample and (packed or not _is_flat(key, x))
    ]
    others = [x for key, x in known if key.level in SAMPLE_LEVELS or key.per_sample]
    for value in (batch.get("lengths"), *tokens, *others):
        sizes = [_length(x) for x in _leaves(value)]
        if sizes and sizes[0] is not None:
            return sizes[0]
    return None


def _length(value: Any) -> int | None:
    try:
        no_column = value is None or isinstance(value, (str, bytes, Mapping)) or is_single(value)
        return None if no_column else len(value)
    except Exception:  # it has no length, or raises when it is asked
        return None


def _is_per_sample(name: str, value: Any, size: int, batch: Mapping[str, Any]) -> bool:
    if name not in KEYS or KEYS[name].level not in (*TOKEN_LEVELS, *SAMPLE_LEVELS):
        return False
    sizes = [_length(leaf) for leaf in _leaves(value)]
    if KEYS[name].level in TOKEN_LEVELS and batch.get("lengths") is not None:
        return sizes[0] is not None and sizes[0] in (size, _positions(batch["lengths"]))
    if KEYS[name].level in TOKEN_LEVELS and not KEYS[name].per_sample and _is_flat(KEYS[name], value):
        return False
    return bool(sizes) and all(length == size for length in sizes)


def _positions(lengths: Any) -> int:
    """The length of a packed array; -1 if the lengths are no numbers."""
    try:
        return int(np.sum(np.asarray(array(lengths), np.float64)))
    except (TypeError, ValueError):
        return -1


def _is_flat(key: Key, value: Any) -> bool:
    """Whether token values are packed: which sample they are of is known by `lengths` alone."""
    most = 2 if key.level == "logits" else 1
    if hasattr(value, "ndim"):
        return int(value.ndim) <= most
    return most == 1 and (not _length(value) or _length(value[0]) is None)


def _leaves(value: Any) -> Iterator[Any]:
    """The columns of a table, or the value itself."""
    if isinstance(value, Mapping):
        for column in value.values():
            yield from _leaves(column)
    else:
        yield value


def _paths(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for column, values in value.items():
            yield from _paths(f"{name}/{column}", values)
    else:
        yield name


def _mark(name: str, rows: Mapping[str, Any]) -> np.ndarray[Any, Any] | None:
    """A label as text, a length as it is, a mask as its number of tokens; None on a device."""
    value = rows[name]
    if name in MASKS:
        return None if is_on_device(value) else _mask_sums(value, rows.get("lengths"))
    if name == "lengths":
        return np.asarray(array(value), np.float64)
    values = array(value)
    return np.array([id_text(word) for word in (values.tolist() if hasattr(values, "tolist") else values)], object)


def _mask_sums(mask: Any, lengths: Any) -> np.ndarray[Any, Any]:
    mask = array(mask)
    if lengths is not None and getattr(mask, "ndim", 0) == 1:
        ends = np.cumsum(np.asarray(array(lengths), np.int64))
        return np.array([float(np.count_nonzero(part)) for part in np.split(np.asarray(mask), ends[:-1])])
    return np.array([float(np.count_nonzero(array(row))) for row in mask])
