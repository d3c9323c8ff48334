"""A batch as the engine reads it: every key checked against the vocabulary, sorted by level.

`read` turns a mapping into a `Batch`: token arrays in one layout, one value per sample, step
values. A key that does not fit raises BadBatch with its name, its shape and what was expected. If
a list of `problems` is given, the sentence goes there and the key is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rollscope.catalog.keys import KEYS, SAMPLE_LEVELS, SHAPES, TOKEN_LEVELS, Key
from rollscope.catalog.partials import ops
from rollscope.errors import BadBatch, nearest

from .layout import Packed, Padded, PerSample, Ragged, Tokens, arrays, on_host
from .shape import excerpt, is_single, shape_of, widths_of

Problems = list[str] | None
COUNTS = frozenset(  # keys that are never below 0
    ("prompt_tokens", "completion_tokens", "response_tokens", "turns", "tool_calls", "tool_failures")
)
FLAGS = frozenset(  # keys between 0 and 1
    (
        *("terminated", "trained", "intervened"),
        *("success_once", "success_at_end", "fail_once", "fail_at_end"),
    )
)
CHOICES = {"ratio_level": ("token", "sequence", "sequence_sum"), "logp_level": ("token", "action", "chunk")}


@dataclass(slots=True, eq=False)
class Batch:
    """The values of a batch by level.

    `widths` is the number of positions of each sample, None without token arrays.
    """

    size: int = 0
    tokens: dict[str, Tokens] = field(default_factory=dict)
    samples: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, Any] = field(default_factory=dict)
    widths: np.ndarray[Any, Any] | None = None
    device: Any = None  # of the token arrays; None is the host


def read(batch: Mapping[str, Any], problems: Problems = None, keep_torch: bool = False) -> Batch:
    """Check and sort a mapping. Without `problems`, raises BadBatch at the first wrong key."""
    reader = _Reader(problems, keep_torch)
    if not isinstance(batch, Mapping):
        raise BadBatch(
            f"a batch is a mapping from keys such as 'logp' to arrays, not {type(batch).__name__}. Pass a dict."
        )
    known: dict[Key, Any] = {}
    for name, value in batch.items():
        if name not in KEYS:
            hint = nearest(str(name), KEYS)
            reader.complain(
                f"batch has a key {name!r} that compute does not know.{hint} Remove it, or log it with run.log."
            )
        elif value is not None:
            known[KEYS[name]] = value
    return reader.read(known)


class _Reader:
    def __init__(self, problems: Problems, keep_torch: bool) -> None:
        self.problems, self.keep = problems, keep_torch
        self.batch = Batch()
        self.owner = ""  # the first key, which sets the number of samples

    def complain(self, sentence: str) -> None:
        if self.problems is None:
            raise BadBatch(sentence)
        self.problems.append(sentence)

    def wrong(self, key: Key, value: Any, why: str = "") -> None:
        self.complain(
            f"batch[{key.name!r}] {why or f'has shape {shape_of(value)}'}; {key.name} is {SHAPES[key.level]}."
        )

    def read(self, known: dict[Key, Any]) -> Batch:
        lengths = next((self.lengths(k, v) for k, v in known.items() if k.name == "lengths"), None)
        if lengths is not None:
            self.batch.size, self.owner = len(lengths), "lengths"
            self.batch.samples["lengths"] = lengths
        tokens = [(k, v) for k, v in known.items() if k.level in TOKEN_LEVELS]
        for key, value in sorted(tokens, key=lambda item: item[0].per_sample):  # keys that may be [B] last
            self.token(key, value, lengths)
        self.samples({k: v for k, v in known.items() if k.level in SAMPLE_LEVELS and k.name != "lengths"})
        for key, value in known.items():
            if key.level in ("step", "word", "object"):
                self.step(key, value)
        return self.finished()

    def finished(self) -> Batch:
        batch = self.batch
        counted = "action_mask" in batch.tokens or "completion_tokens" in batch.samples
        if "mask" in batch.tokens and not counted:
            batch.steps["loss_mask_only"] = 1.0
        if batch.device is not None:
            batch.tokens = {name: tokens.to(batch.device) for name, tokens in batch.tokens.items()}
        return batch

    # token level

    def token(self, key: Key, value: Any, lengths: Any) -> None:
        try:
            tokens = self.layout(key, arrays(value, self.keep), lengths)
        except (TypeError, ValueError):
            dtype = f" of {value.dtype}" if hasattr(value, "dtype") else ""
            return self.wrong(key, value, f"is {type(value).__name__}{dtype} and cannot be read as numbers")
        if tokens is None:
            why = " without `lengths`" if lengths is None else f" where `lengths` sum to {int(lengths.sum())}"
            return self.wrong(key, value, f"has shape {shape_of(value)}{why}")
        if isinstance(tokens, PerSample):
            fits = self.fits(key, len(tokens.values))
        else:
            fits = self.fits(key, len(tokens.widths())) and self.aligns(key, value, tokens.widths())
        if fits:
            self.batch.tokens[key.name] = tokens
            self.find_device(tokens)
        return None

    def aligns(self, key: Key, value: Any, widths: np.ndarray[Any, Any]) -> bool:
        """Whether a token array has the layout of the first one."""
        if self.batch.widths is None:
            self.batch.widths = widths
        if np.array_equal(self.batch.widths, widths):
            return True
        others = widths_of(self.batch.widths)
        self.wrong(
            key, value, f"has shape {shape_of(value)}, which is not the layout of the other token arrays ({others})"
        )
        return False

    def layout(self, key: Key, x: Any, lengths: Any) -> Tokens | None:
        more = 1 if key.level == "logits" else 0
        if isinstance(x, list):
            if any(row.ndim != 1 + more for row in x):
                return None
            if not all(_is_numeric(row) for row in x if len(row)):
                raise ValueError
            return Ragged(x)
        if not _is_numeric(x):
            raise ValueError
        if x.ndim == 2 + more:
            return Padded(x)
        if x.ndim == 1 + more and lengths is not None and len(x) == int(lengths.sum()):
            return Packed(x, np.concatenate(([0], np.cumsum(lengths))).astype(np.int64))
        return PerSample(x) if key.per_sample and x.ndim == 1 else None

    def find_device(self, tokens: Tokens) -> None:
        if isinstance(tokens, PerSample):
            return
        first = tokens.first()
        if ops.is_torch(first):
            self.batch.device = first.device

    def fits(self, key: Key, size: int) -> bool:
        """Whether a key has as many samples as the first one."""
        if not self.owner:
            self.batch.size, self.owner = size, key.name
        if size != self.batch.size:
            first = f"batch[{self.owner!r}] has {self.batch.size}"
            self.complain(
                f"batch[{key.name!r}] has {size} samples where {first}; all keys of a batch speak of the same samples."
            )
        return size == self.batch.size

    # sample level

    def samples(self, known: dict[Key, Any]) -> None:
        scalars: dict[Key, Any] = {}
        for key, value in known.items():
            if key.level == "table":
                self.table(key, value)
            elif is_single(value):
                scalars[key] = value
            else:
                self.sample(key, value)
        if not self.owner and scalars:
            self.batch.size, self.owner = 1, next(iter(scalars)).name
        for key, value in scalars.items():
            self.sample(key, value, self.batch.size)

    def sample(self, key: Key, value: Any, repeat: int | None = None) -> None:
        column = self.numbers(key, value, repeat) if key.level == "sample" else self.names(key, value, repeat)
        if column is not None and self.fits(key, len(column)):
            self.batch.samples[key.name] = column

    def numbers(self, key: Key, value: Any, repeat: int | None = None) -> Any:
        value = on_host(value, self.keep)
        if not ops.is_torch(value):
            try:
                value = _floats(value)
            except (TypeError, ValueError):
                return self.wrong(key, value, f"holds {excerpt(value)} that cannot be read as numbers")
        if repeat is not None:
            value = value.expand(repeat) if ops.is_torch(value) else np.full(repeat, value)
        if value.ndim != 1:
            return self.wrong(key, value)
        if key.name in COUNTS and not ops.is_torch(value) and (value < 0).any():
            return self.wrong(key, value, f"holds {value[value < 0][0]:g}, and a count cannot be negative")
        if key.name in FLAGS and not ops.is_torch(value) and ((value < 0) | (value > 1)).any():
            odd = value[(value < 0) | (value > 1)][0]
            return self.wrong(key, value, f"holds {odd:g}, and lies between 0 and 1")
        return value

    def lengths(self, key: Key, value: Any) -> Any:
        lengths = self.numbers(key, value)
        if lengths is None:
            return None
        lengths = lengths.cpu() if ops.is_torch(lengths) else lengths  # the layout is needed on the host
        lengths = np.asarray(lengths, np.float64)
        odd = lengths[~((lengths >= 0) & (lengths == np.floor(lengths)))]
        if len(odd):
            return self.wrong(key, value, f"holds {odd[0]:g}, which is no number of tokens")
        return lengths.astype(np.int64)

    def names(self, key: Key, value: Any, repeat: int | None = None) -> Any:
        if repeat is not None:
            value = [value] * repeat
        value = on_host(value)
        value = value.cpu().numpy() if ops.is_torch(value) else value
        if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
            return value if value.ndim == 1 else self.wrong(key, value)
        names = np.empty(len(value), object)
        for i, name in enumerate(value):  # one by one, because a name may be a list of stop reasons
            names[i] = name.item() if isinstance(name, np.generic) else name
        return names

    def table(self, key: Key, value: Any) -> None:
        if not isinstance(value, Mapping):
            return self.wrong(key, value, f"is {type(value).__name__}")
        self.batch.samples[key.name] = self.columns(key.name, value)
        return None

    def columns(self, path: str, table: Mapping[Any, Any]) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for name, column in table.items():
            key = Key(f"{path}[{name!r}]", "sample", "")
            if isinstance(column, Mapping):
                columns[str(name)] = self.columns(key.name, column)
                continue
            numbers = self.numbers(key, column)
            if numbers is not None and self.fits(key, len(numbers)):
                columns[str(name)] = numbers
        return columns

    # step level

    def step(self, key: Key, value: Any) -> None:
        if key.level == "step":
            value = self.number(key, value)
        elif key.level == "word":
            value = self.word(key, value)
        if value is not None:
            self.batch.steps[key.name] = value

    def word(self, key: Key, value: Any) -> Any:
        if not isinstance(value, str):
            return self.wrong(key, value, f"is {type(value).__name__}")
        if value not in CHOICES.get(key.name, (value,)):
            return self.wrong(key, value, f"is {value!r}, expected {' or '.join(CHOICES[key.name])}")
        return value

    def number(self, key: Key, value: Any) -> Any:
        value = on_host(value, self.keep)
        if np.ndim(value) != 0 and ops.size(value if ops.is_torch(value) else np.asarray(value)) != 1:
            return self.wrong(key, value)
        if ops.is_torch(value):
            return value.reshape(())
        try:
            return float(np.asarray(value).reshape(())[()])
        except (TypeError, ValueError):
            return self.wrong(key, value, f"is {value!r}")


def _is_numeric(x: Any) -> bool:
    return ops.is_torch(x) or x.dtype.kind in "biuf"


def _floats(value: Any) -> np.ndarray[Any, Any]:
    """Numbers as float64; None in a list becomes NaN."""
    if isinstance(value, (list, tuple)):
        value = [np.nan if number is None else number for number in value]
    return np.asarray(value).astype(np.float64)
