"""Read Trinity-RFT's pickled experiences without running any code in them.

Only the five names that such a pickle needs are allowed, each replaced by inert code of ours; any
other name refuses the whole pickle. Tensors are rebuilt from the bytes that torch stored, so
neither trinity nor torch is needed.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import struct
from collections import OrderedDict
from typing import Any

import numpy as np

from rollscope.sources.files.tensors import DTYPES, Refused, Storage, tensor, values

MAGIC = 0x1950A86A20F9469CFC6C


class Record:
    """The fields of an object of theirs, without its methods."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)

    def __setstate__(self, state: Any) -> None:
        fields = state[1] if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict) else state
        if isinstance(fields, dict):
            self.__dict__.update({str(key): value for key, value in fields.items()})


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
        size = count * np.dtype(DTYPES.get(kind, "u1")).itemsize
        saved.storages[str(key)].values = values(kind, file.read(size))
    return storage


ALLOWED = {
    ("trinity.common.experience", "Experience"): Record,
    ("trinity.common.experience", "EID"): Record,
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): tensor,
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
