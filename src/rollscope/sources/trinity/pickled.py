"""Read Trinity-RFT's pickled experiences without running any code in them.

Only the five names that such a pickle needs are allowed, each replaced by inert code of ours; any
other name refuses the whole pickle. Tensors are rebuilt from the bytes that torch stored, so
neither trinity nor torch is needed.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import struct
from collections import OrderedDict
from typing import Any

import numpy as np

MAGIC = 0x1950A86A20F9469CFC6C
REPEATED = 1 << 20  # values of a tensor that repeats those of its storage, as `expand` makes one
DTYPES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "BoolStorage": "?",
    "ByteStorage": "u1",
    "CharStorage": "i1",
    "ShortStorage": "<i2",
    "BFloat16Storage": "<u2",
}


class Refused(ValueError):
    """The pickle refers to something that an experience does not need."""


class Record:
    """The fields of an object of theirs, without its methods."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)

    def __setstate__(self, state: Any) -> None:
        fields = state[1] if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict) else state
        if isinstance(fields, dict):
            self.__dict__.update({str(key): value for key, value in fields.items()})


class Storage:
    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values


def _tensor(storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: Any) -> Any:
    """The values of a tensor, as a numpy array of its size."""
    values = storage.values if isinstance(storage, Storage) else np.empty(0)
    count = math.prod(size)
    if not size:
        return values[offset]
    if count > max(len(values), REPEATED):
        raise Refused(f"a tensor of {count:,} values in a storage of {len(values):,}")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if count else offset
    if offset < 0 or last >= max(len(values), 1) or any(s < 0 for s in stride):
        raise Refused("a tensor reaches beyond its storage")
    axes = enumerate(zip(size, stride, strict=True))
    index = sum((np.arange(n) * s).reshape([-1 if i == d else 1 for i in range(len(size))]) for d, (n, s) in axes)
    return values[offset + np.asarray(index)] if count else np.empty(size)


class _Saved(pickle.Unpickler):
    """Reads the pickles inside torch's format: only references to storages, whose bytes follow."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.storages: dict[str, Storage] = {}
        self.kinds: dict[str, str] = {}

    def find_class(self, module: str, name: str) -> Any:
        if module in ("torch", "torch.storage") and (name in DTYPES or name in ("UntypedStorage", "TypedStorage")):
            return name
        raise Refused(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Storage:
        _, kind, key, *_ = pid
        self.kinds[str(key)] = str(kind)
        return self.storages.setdefault(str(key), Storage(np.empty(0)))


def _load_from_bytes(data: bytes) -> Any:
    """A storage as torch pickles it.

    The stream holds a magic number, a version, facts about the machine, the storage, its keys, and
    for each key the number of values and the values.
    """
    file = io.BytesIO(data)
    if _Saved(file).load() != MAGIC:
        raise Refused("bytes that are not a torch storage")
    for _ in range(2):  # the version and the facts are plain values
        _Saved(file).load()
    saved = _Saved(file)
    storage = saved.load()
    for key in _Saved(file).load():
        (count,) = struct.unpack("<q", file.read(8))
        kind = saved.kinds[str(key)]
        dtype = np.dtype(DTYPES.get(kind, "u1"))
        values = np.frombuffer(file.read(count * dtype.itemsize), dtype)
        if kind == "BFloat16Storage":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        saved.storages[str(key)].values = values
    return storage


ALLOWED = {
    ("trinity.common.experience", "Experience"): Record,
    ("trinity.common.experience", "EID"): Record,
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch.storage", "_load_from_bytes"): _load_from_bytes,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return ALLOWED[module, name]
        except KeyError:
            raise Refused(f"{module}.{name}") from None

    def persistent_load(self, pid: Any) -> Any:
        raise Refused("a reference to something outside the pickle")


def experience(blob: bytes) -> Record:
    """The experience in a pickle.

    Raises `Refused` if the pickle needs more than an experience does, `ValueError` if it is not
    one.
    """
    try:
        for _ in pickletools.genops(blob):  # malformed opcodes raise before anything is built
            pass
        record = _Unpickler(io.BytesIO(blob)).load()
    except Refused:
        raise
    except Exception as error:
        raise ValueError(f"not a readable experience ({error!r})") from error
    if not isinstance(record, Record):
        raise Refused(f"a {type(record).__name__} instead of an experience")
    return record
