"""Odd values that a training loop may pass anywhere: each a function that makes a new one."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import sys
import threading
import types
import uuid
from collections.abc import Iterator, Mapping

import numpy as np


class Split(enum.Enum):
    EVAL = enum.auto()
    NAMED = "named"


class Words(str, enum.Enum):  # noqa: UP042
    HELD = "held-out"


class Level(enum.IntEnum):
    HIGH = 3


class Raising:
    """Raises whatever it is asked."""

    def _raise(self, *_):
        raise RuntimeError("asked the wrong object")

    __str__ = __repr__ = __len__ = __iter__ = __float__ = __int__ = __index__ = __bool__ = _raise
    __eq__ = __add__ = __radd__ = __getitem__ = __getattr__ = __array__ = _raise  # type: ignore[assignment]
    __hash__ = object.__hash__


class Unhashable(Raising):
    def __hash__(self):
        raise TypeError("cannot be hashed")


class Exiting:
    """Ends the interpreter where it is printed."""

    def __str__(self):
        raise SystemExit(3)

    __repr__ = __str__


class Pretending:
    """Adds like a float, and is none."""

    def __radd__(self, other):
        return float(other)


class Wavering:
    """Has a text now and then."""

    def __init__(self):
        self.asked = 0

    def __str__(self):
        self.asked += 1
        if self.asked % 2:
            raise ValueError("not now")
        return "now"


class Endless:
    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


class Changing(Mapping):
    """A mapping that grows while it is read."""

    def __init__(self):
        self.inside = {"a": 1.0}

    def __iter__(self):
        for key in self.inside:
            self.inside[f"more {len(self.inside)}"] = 1.0
            yield key

    def __len__(self):
        return len(self.inside)

    def __getitem__(self, key):
        return self.inside[key]


class Refusing(Mapping):
    """A mapping that does not give out one of its values."""

    def __iter__(self):
        return iter(["a", "b"])

    def __len__(self):
        return 2

    def __getitem__(self, key):
        if key == "b":
            raise OSError("gone")
        return 1.0


class Attributes:
    """Has every attribute, as mocks do."""

    def __getattr__(self, name):
        return Attributes()

    def __call__(self, *_, **__):
        return Attributes()


@dataclasses.dataclass
class Linked:
    other: object = None


def inside_itself_dict():
    value = {}
    value |= {"a": value, "b": value}
    return value


def inside_itself_list():
    value = []
    value += [value, value]
    return value


def inside_itself_dataclass():
    value = Linked()
    value.other = value
    return value


def doubling():
    """A value of forty lines that would be written as 2**40 values."""
    value = {"x": 1.0}
    for _ in range(40):
        value = {"a": value, "b": value}
    return value


def deep():
    value = []
    for _ in range(50_000):
        value = [value]
    return value


def object_array():
    value = np.empty(2, object)
    value[0], value[1] = Raising(), 1
    return value


def numpy_scalars():
    numbers = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32")
    made = {name: (lambda name=name: np.dtype(name).type(1)) for name in (*numbers, "float64", "complex64", "object")}
    more = {
        "longdouble": lambda: np.longdouble(1) / 3,
        "str": lambda: np.str_("word"),
        "bytes": lambda: np.bytes_(b"word"),
        "datetime64": lambda: np.datetime64("2026-01-01"),
        "timedelta64": lambda: np.timedelta64(3, "s"),
        "NaT": lambda: np.datetime64("NaT"),
        "void": lambda: np.void(b"abc"),
    }
    return {f"numpy {name}": make for name, make in (made | more).items()}


def torch_values():
    if "torch" not in sys.modules:
        return {}
    import torch

    return {
        "tensor": lambda: torch.tensor(1.5),
        "tensor of several": lambda: torch.ones(3),
        "bfloat16": lambda: torch.tensor(1.0, dtype=torch.bfloat16),
        "complex tensor": lambda: torch.tensor(1j),
        "meta tensor": lambda: torch.ones(2, device="meta"),
        "sparse tensor": lambda: torch.eye(2).to_sparse(),
    }


POISONS = {
    "enum": lambda: Split.EVAL,
    "enum of text": lambda: Split.NAMED,
    "text enum": lambda: Words.HELD,
    "number enum": lambda: Level.HIGH,
    "bytes": lambda: b"caf\xc3\xa9",
    "broken bytes": lambda: b"\xff\xfe\x00",
    "bytearray": lambda: bytearray(b"ab"),
    "memoryview": lambda: memoryview(b"ab"),
    "lone surrogate": lambda: "a\ud800b",
    "control characters": lambda: "a\0b\x1fc\x1b[31m\n",
    "empty text": lambda: "",
    "10 MB of text": lambda: "x" * 10_000_000,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "None": lambda: None,
    "True": lambda: True,
    "beyond int64": lambda: 2**64,
    "below int64": lambda: -(2**64),
    "beyond a double": lambda: 10**400,
    "too long to print": lambda: 10**5000,
    "complex": lambda: 1 + 2j,
    "Decimal": lambda: decimal.Decimal("1.5"),
    "Decimal NaN": lambda: decimal.Decimal("sNaN"),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "date": lambda: datetime.date(2026, 1, 1),
    "datetime": lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    "timedelta": lambda: datetime.timedelta(seconds=3),
    "UUID": uuid.uuid4,
    "path": lambda: pathlib.Path("a/b"),
    "tuple": lambda: (1, "a"),
    "set": lambda: {1, "a"},
    "frozenset": lambda: frozenset([1]),
    "deque": lambda: collections.deque([1, 2]),
    "range": lambda: range(3),
    "ordered dict": lambda: collections.OrderedDict(a=1),
    "mapping proxy": lambda: types.MappingProxyType({"a": 1.0}),
    "generator": lambda: (i for i in range(3)),
    "endless": Endless,
    "function": lambda: print,
    "class": lambda: Raising,
    "lock": threading.Lock,
    "module": lambda: sys,
    "raising": Raising,
    "unhashable": Unhashable,
    "exiting": Exiting,
    "pretending": Pretending,
    "wavering": Wavering,
    "attributes": Attributes,
    "changing mapping": Changing,
    "refusing mapping": Refusing,
    "odd keys": lambda: {None: 1.0, 2: 2.0, float("nan"): 3.0, ("a", 1): 4.0, b"k": 5.0, Raising(): 6.0},
    "inside itself, dict": inside_itself_dict,
    "inside itself, list": inside_itself_list,
    "inside itself, dataclass": inside_itself_dataclass,
    "doubling": doubling,
    "deep": deep,
    "text with raising": lambda: {"a": "kept", "b": Raising()},
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "object array": object_array,
    "structured array": lambda: np.zeros(2, [("a", "f8"), ("b", "U3")]),
    "zero-dimensional array": lambda: np.array(1.5),
    "large array": lambda: np.zeros((200, 200)),
    "dataclass": lambda: Linked(1.0),
    "exception": lambda: ValueError(Raising()),
    **numpy_scalars(),
}
