"""Read a file of `torch.save` without running any code in it, and without torch.

Lists, dicts, texts, numbers, tensors and numpy values are read. Every other name in the pickle
stands for an object that does nothing: a class of theirs, or a call that somebody hid there.
Tensors are read when they are asked for: a dump may hold large ones that nobody needs.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from rollscope.sources import SourceError

from .tensors import DTYPES, Refused, Storage, tensor, values

PLAIN = {str, int, float, bool, NoneType}
LARGEST = 1 << 30  # bytes of the pickle, and of a storage
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, KeyError, RuntimeError, NotImplementedError)


class Nothing:
    """Stands for what is not read. It can be made and filled in any way, and nothing happens."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Nothing:
        return super().__new__(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def _ignore(self, *args: Any, **kwargs: Any) -> None:
        pass

    __setstate__ = append = extend = add = __setitem__ = _ignore


class Tensor:
    """A tensor of the file, which is read by `array`."""

    def __init__(self, *view: Any) -> None:
        self._view = view

    def array(self) -> np.ndarray[Any, Any]:
        return np.asarray(tensor(*self._view))


class _Stored(Storage):
    """A storage in an entry of the file."""

    def __init__(self, archive: zipfile.ZipFile, entry: str, kind: str) -> None:
        self._archive, self._entry, self._kind = archive, entry, kind

    @property
    def values(self) -> Any:  # type: ignore[override]  # read when it is asked for
        return values(self._kind, _bytes(self._archive, self._entry))


class _Array:
    """A numpy array, from the state that numpy pickles."""

    def __init__(self, *_: Any) -> None:
        self._array: np.ndarray[Any, Any] = np.empty(0)

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, raw = state
        if isinstance(raw, bytes) and isinstance(dtype, _Dtype):
            self._array = np.frombuffer(raw, dtype.plain).reshape(shape, order="F" if fortran else "C")

    def array(self) -> np.ndarray[Any, Any]:
        return self._array


class _Dtype:
    def __init__(self, code: Any = "", *_: Any) -> None:
        plain = np.dtype(str(code))
        if plain.hasobject:
            raise Refused("an array of objects")
        self.plain = plain

    def __setstate__(self, state: Any) -> None:
        pass  # the byte order, which is this machine's


def _scalar(dtype: _Dtype, raw: bytes) -> Any:
    return np.frombuffer(raw, dtype.plain)[0].item()


def _encoded(text: str, *_: Any) -> bytes:
    return text.encode("latin1")  # how protocol 2 writes bytes


KNOWN: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "torch._utils._rebuild_tensor_v2": Tensor,
    "_codecs.encode": _encoded,
    "numpy.dtype": _Dtype,
    "numpy.ndarray": _Array,
    **{f"numpy.{core}.multiarray._reconstruct": _Array for core in ("core", "_core")},
    **{f"numpy.{core}.multiarray.scalar": _scalar for core in ("core", "_core")},
    **{f"torch.{kind}": kind for kind in DTYPES},
}


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, archive: zipfile.ZipFile, root: str) -> None:
        super().__init__(file)
        self._archive, self._root = archive, root

    def find_class(self, module: str, name: str) -> Any:
        return KNOWN.get(f"{module}.{name}", Nothing)

    def persistent_load(self, pid: Any) -> Storage:
        _, kind, key, *_ = pid
        return _Stored(self._archive, f"{self._root}/data/{key}", str(kind))


def is_one(path: Path, damaged: bool = False) -> bool:
    """True for a file that `torch.save` wrote, or began to write if it may be `damaged`."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                return False
        if damaged:
            return True
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("/data.pkl") for name in archive.namelist())
    except (OSError, *DAMAGE):
        return False


def load(path: Path | io.BytesIO) -> Iterator[Any]:
    """The content of the file, or of its bytes, once.

    Its tensors can be read until the iterator goes on.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            name = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
            if name is None:
                raise SourceError("it is not a file of torch.save")
            raw = io.BytesIO(_bytes(archive, name))
            yield _Unpickler(raw, archive, name.removesuffix("/data.pkl")).load()
    except MemoryError:
        raise
    except (*DAMAGE, pickle.UnpicklingError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise SourceError(f"the file of torch.save is damaged: {error}") from error


def _bytes(archive: zipfile.ZipFile, entry: str) -> bytes:
    if archive.getinfo(entry).file_size > LARGEST:
        raise Refused(f"{entry} unpacks to more than {LARGEST >> 20} MB")
    return archive.read(entry)


def plain(value: Any) -> Any:
    """The value with its tensors and arrays as lists; what was not read is None."""
    if isinstance(value, Tensor | _Array):
        return value.array().tolist()
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        is_plain = {*map(type, value)} <= PLAIN  # mostly tokens: many, and all of one type
        return list(value) if is_plain else [plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool) else None
