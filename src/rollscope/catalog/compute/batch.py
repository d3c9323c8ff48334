"""A batch as the engine reads it: every key checked against the vocabulary and put on its level, once.

`read` turns the mapping somebody passed into a `Batch`: token arrays in one layout, one value per sample, step values. What does not fit is an
error that names the key, the shape and what was expected; with `problems` it is written there instead and the key is left out.
`take` gives the mapping of some of the samples.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rollscope.catalog.keys import KEYS, SAMPLE_LEVELS, SHAPES, TOKEN_LEVELS, Key, key
from rollscope.catalog.partials import ops
from rollscope.errors import BadBatch, nearest

from .layout import Packed, Padded, PerSample, Ragged, Tokens, arrays, on_host

__all__ = ["Batch", "key", "read", "take"]

Problems = list[str] | None
COUNTS = frozenset(
    ("prompt_tokens", "completion_tokens", "response_tokens", "turns", "tool_calls", "tool_failures")
)  # never below 0
CHOICES = {"ratio_level": ("token", "sequence", "sequence_sum"), "logp_level": ("token", "action", "chunk")}


@dataclass(slots=True, eq=False)
class Batch:
    """What was given, by level. `widths` is the number of positions of each sample, None without token arrays."""

    size: int = 0
    tokens: dict[str, Tokens] = field(default_factory=dict)
    samples: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, Any] = field(default_factory=dict)
    widths: np.ndarray[Any, Any] | None = None
    device: Any = None  # where the token arrays are; None is the host


def read(batch: Mapping[str, Any], problems: Problems = None, keep_torch: bool = False) -> Batch:
    """Check and sort a mapping. Without `problems` the first thing that does not fit is raised as BadBatch."""
    reader = _Reader(problems, keep_torch)
    if not isinstance(batch, Mapping):
        raise BadBatch(
            f"a batch is a mapping from keys such as 'logp' to arrays, not {type(batch).__name__}. Pass a dict."
        )
    known: dict[Key, Any] = {}
    for name, value in batch.items():
        if name not in KEYS:
            reader.complain(
                f"batch has a key {name!r} that compute does not know.{nearest(str(name), KEYS)} Remove it, or log it with run.log."
            )
        elif value is not None:
            known[KEYS[name]] = value
    return reader.read(known)


class _Reader:
    def __init__(self, problems: Problems, keep_torch: bool) -> None:
        self.problems, self.keep = problems, keep_torch
        self.batch = Batch()
        self.owner = ""  # the key that said how many samples there are

    def complain(self, sentence: str) -> None:
        if self.problems is None:
            raise BadBatch(sentence)
        self.problems.append(sentence)

    def wrong(self, key: Key, value: Any, why: str = "") -> None:
        self.complain(f"batch[{key.name!r}] {why or f'has shape {_shape(value)}'}; {key.name} is {SHAPES[key.level]}.")

    def read(self, known: dict[Key, Any]) -> Batch:
        lengths = next((self.lengths(k, v) for k, v in known.items() if k.name == "lengths"), None)
        if lengths is not None:
            self.batch.size, self.owner = len(lengths), "lengths"
            self.batch.samples["lengths"] = lengths
        for key_, value in sorted(
            known.items(), key=lambda item: item[0].per_sample
        ):  # one that may be [B] comes after those that say B
            if key_.level in TOKEN_LEVELS:
                self.token(key_, value, lengths)
        self.samples({k: v for k, v in known.items() if k.level in SAMPLE_LEVELS and k.name != "lengths"})
        for key_, value in known.items():
            if key_.level in ("step", "word", "object"):
                self.step(key_, value)
        if (
            "mask" in self.batch.tokens
            and "action_mask" not in self.batch.tokens
            and "completion_tokens" not in self.batch.samples
        ):
            self.batch.steps["loss_mask_only"] = 1.0
        if self.batch.device is not None:
            self.batch.tokens = {name: _moved(tokens, self.batch.device) for name, tokens in self.batch.tokens.items()}
        return self.batch

    # token level

    def token(self, key: Key, value: Any, lengths: Any) -> None:
        try:
            tokens = self.layout(key, arrays(value, self.keep), lengths)
        except (TypeError, ValueError):
            holds = f" of {value.dtype}" if hasattr(value, "dtype") else ""
            return self.wrong(key, value, f"is {type(value).__name__}{holds} and cannot be read as numbers")
        if tokens is None:
            return self.wrong(
                key,
                value,
                f"has shape {_shape(value)}"
                + (" without `lengths`" if lengths is None else f" where `lengths` sum to {int(lengths.sum())}"),
            )
        if isinstance(tokens, PerSample):
            if self.fits(key, len(tokens.values)):
                self.batch.tokens[key.name] = tokens
            return None
        widths = tokens.widths()
        if not self.fits(key, len(widths)):
            return None
        if self.batch.widths is None:
            self.batch.widths = widths
        elif not np.array_equal(self.batch.widths, widths):
            return self.wrong(
                key,
                value,
                f"has shape {_shape(value)}, which is not the layout of the other token arrays ({_widths(self.batch.widths)})",
            )
        self.batch.tokens[key.name] = tokens
        self.find_device(tokens)
        return None

    def layout(self, key: Key, x: Any, lengths: Any) -> Tokens | None:
        more = 1 if key.level == "logits" else 0
        if isinstance(x, list):
            if any(row.ndim != 1 + more for row in x):
                return None
            if any(not ops.is_torch(row) and row.dtype.kind not in "biuf" for row in x if len(row)):
                raise ValueError
            return Ragged(x)
        if not ops.is_torch(x) and x.dtype.kind not in "biuf":
            raise ValueError
        if x.ndim == 2 + more:
            return Padded(x)
        if x.ndim == 1 + more and lengths is not None and len(x) == int(lengths.sum()):
            return Packed(x, np.concatenate(([0], np.cumsum(lengths))).astype(np.int64))
        return PerSample(x) if key.per_sample and x.ndim == 1 else None

    def find_device(self, tokens: Tokens) -> None:
        first = (
            tokens.rows[0]
            if isinstance(tokens, Ragged) and tokens.rows
            else getattr(tokens, "array", getattr(tokens, "flat", None))
        )
        if ops.is_torch(first):
            self.batch.device = first.device  # type: ignore[union-attr]

    def fits(self, key: Key, size: int) -> bool:
        if not self.owner:
            self.batch.size, self.owner = size, key.name
        if size != self.batch.size:
            self.complain(
                f"batch[{key.name!r}] has {size} samples where batch[{self.owner!r}] has {self.batch.size}; all keys of a batch speak of the same samples."
            )
        return size == self.batch.size

    # sample level

    def samples(self, known: dict[Key, Any]) -> None:
        scalars: dict[Key, Any] = {}
        for word, value in known.items():
            if word.level == "table":
                self.table(word, value)
            elif _single(value):
                scalars[word] = value
            else:
                self.sample(word, value)
        if not self.owner and scalars:
            self.batch.size, self.owner = 1, next(iter(scalars)).name
        for word, value in scalars.items():
            self.sample(word, value, self.batch.size)

    def sample(self, key: Key, value: Any, repeat: int | None = None) -> None:
        found = self.numbers(key, value, repeat) if key.level == "sample" else self.names(key, value, repeat)
        if found is not None and self.fits(key, len(found)):
            self.batch.samples[key.name] = found

    def numbers(self, key: Key, value: Any, repeat: int | None = None) -> Any:
        value = on_host(value, self.keep)
        if not ops.is_torch(value):
            try:
                value = np.asarray(
                    [np.nan if v is None else v for v in value] if isinstance(value, (list, tuple)) else value
                ).astype(np.float64)
            except (TypeError, ValueError):
                return self.wrong(key, value, f"holds {_kind(value)} that cannot be read as numbers")
        if repeat is not None:
            value = value.expand(repeat) if ops.is_torch(value) else np.full(repeat, value)
        if value.ndim != 1:
            return self.wrong(key, value)
        if key.name in COUNTS and not ops.is_torch(value) and (value < 0).any():
            return self.wrong(key, value, f"holds {value[value < 0][0]:g}, and a count cannot be negative")
        return value

    def lengths(self, key: Key, value: Any) -> Any:
        found = self.numbers(key, value)
        if found is None:
            return None
        found = np.asarray(
            found.cpu() if ops.is_torch(found) else found, np.float64
        )  # the layout must be known here, wherever the tokens are
        odd = found[~((found >= 0) & (found == np.floor(found)))]
        return (
            self.wrong(key, value, f"holds {odd[0]:g}, which is no number of tokens")
            if len(odd)
            else found.astype(np.int64)
        )

    def names(self, key: Key, value: Any, repeat: int | None = None) -> Any:
        if repeat is not None:
            value = [value] * repeat
        value = on_host(value)
        value = value.cpu().numpy() if ops.is_torch(value) else value
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            return value if value.ndim == 1 else self.wrong(key, value)
        out = np.empty(len(value), object)
        for i, v in enumerate(
            value
        ):  # one by one: a name may itself be a list, such as the stop reasons of several turns
            out[i] = v.item() if isinstance(v, np.generic) else v
        return out

    def table(self, key: Key, value: Any) -> None:
        if not isinstance(value, Mapping):
            return self.wrong(key, value, f"is {type(value).__name__}")
        self.batch.samples[key.name] = self.columns(key.name, value)
        return None

    def columns(self, path: str, value: Mapping[Any, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, column in value.items():
            one = Key(f"{path}[{name!r}]", "sample", "")
            if isinstance(column, Mapping):
                found[str(name)] = self.columns(one.name, column)
                continue
            numbers = self.numbers(one, column)
            if numbers is not None and self.fits(one, len(numbers)):
                found[str(name)] = numbers
        return found

    # step level

    def step(self, key: Key, value: Any) -> None:
        if key.level == "word" and not isinstance(value, str):
            return self.wrong(key, value, f"is {type(value).__name__}")
        if key.level == "word" and value not in CHOICES.get(key.name, (value,)):
            return self.wrong(key, value, f"is {value!r}, expected {' or '.join(CHOICES[key.name])}")
        if key.level != "step":
            self.batch.steps[key.name] = value
            return None
        value = on_host(value, self.keep)
        if np.ndim(value) != 0 and ops.size(value if ops.is_torch(value) else np.asarray(value)) != 1:
            return self.wrong(key, value)
        if ops.is_torch(value):
            self.batch.steps[key.name] = value.reshape(())
            return None
        try:
            self.batch.steps[key.name] = float(np.asarray(value).reshape(())[()])
        except (TypeError, ValueError):
            return self.wrong(key, value, f"is {value!r}")
        return None


def _moved(tokens: Tokens, device: Any) -> Tokens:
    torch = sys.modules["torch"]
    if isinstance(tokens, Padded):
        return Padded(torch.as_tensor(tokens.array, device=device))
    if isinstance(tokens, Packed):
        return Packed(torch.as_tensor(tokens.flat, device=device), tokens.offsets)
    if isinstance(tokens, Ragged):
        return Ragged([torch.as_tensor(row, device=device) for row in tokens.rows])
    return PerSample(torch.as_tensor(tokens.values, device=device))


def _single(value: Any) -> bool:
    """One value for all samples. A list is never that, and its rows may differ in length, which numpy would not take."""
    return isinstance(value, str) or (not isinstance(value, (list, tuple)) and np.ndim(value) == 0)


def _shape(value: Any) -> str:
    try:
        rows = (
            None
            if hasattr(value, "shape") and not getattr(value, "is_nested", False)
            else [len(row) for row in value if np.ndim(row) or hasattr(row, "__len__")]
        )
    except TypeError:
        return type(value).__name__
    if rows:
        return f"[{len(rows)}, {min(rows)}..{max(rows)}]" if min(rows) != max(rows) else f"[{len(rows)}, {rows[0]}]"
    return str(list(np.shape(value))) if not ops.is_torch(value) else str(list(value.shape))


def _widths(widths: np.ndarray[Any, Any]) -> str:
    if not len(widths):
        return "no samples"
    span = str(widths[0]) if widths.min() == widths.max() else f"{widths.min()}..{widths.max()}"
    return f"{len(widths)} samples of {span} positions"


def _kind(value: Any) -> str:
    return (
        f"values such as {value[0]!r}"
        if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) and len(value)
        else f"{value!r}"
    )


def take(batch: Mapping[str, Any], index: Any) -> dict[str, Any]:
    """The same mapping for some of its samples; `index` holds positions, or True for those to keep."""
    index = np.asarray(index)
    index = np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)
    lengths = batch.get("lengths")
    offsets = (
        None
        if lengths is None
        else np.concatenate(
            ([0], np.cumsum(np.asarray(on_host(lengths) if not ops.is_torch(lengths) else lengths.cpu())))
        )
    )
    return {
        name: _take(KEYS[name], value, index, offsets) if name in KEYS and value is not None else value
        for name, value in batch.items()
    }


def _take(key: Key, value: Any, index: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any] | None) -> Any:
    if key.level == "table":
        return {
            name: _take(key, column, index, offsets) if isinstance(column, Mapping) else _rows(column, index)
            for name, column in value.items()
        }
    if key.level in SAMPLE_LEVELS:
        return value if _single(value) else _rows(value, index)
    if key.level not in TOKEN_LEVELS:
        return value
    packed = (
        offsets is not None
        and hasattr(value, "ndim")
        and value.ndim == (2 if key.level == "logits" else 1)
        and len(value) == int(offsets[-1])
    )
    if packed and not (key.per_sample and len(value) == len(offsets) - 1):  # type: ignore[arg-type]
        at = [np.arange(offsets[i], offsets[i + 1]) for i in index]  # type: ignore[index]
        return _rows(value, np.concatenate(at).astype(np.int64) if at else np.empty(0, np.int64))
    return _rows(value, index)


def _rows(value: Any, index: np.ndarray[Any, Any]) -> Any:
    if ops.is_torch(value):
        rows = value.unbind() if value.is_nested else None
        return (
            [rows[i] for i in index]
            if rows is not None
            else value[sys.modules["torch"].as_tensor(index, device=value.device)]
        )
    return value[index] if isinstance(value, np.ndarray) else [value[i] for i in index]
