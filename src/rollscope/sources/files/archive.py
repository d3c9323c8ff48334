"""Read entries of a zip file, also those packed with Zstandard, each of bounded size."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from rollscope.sources import Skipped, SourceError

LARGEST = 256 << 20  # bytes of an unpacked entry
ZSTANDARD = 93  # the number of its method in a zip file; Python knows it from 3.14 on
LOCAL = struct.Struct("<26xHH")  # lengths of name and extra field at the end of an entry's own head


def entries(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes | Skipped]]:
    """The entries whose name is wanted, in the order of their names; a damaged one says why."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            for info in sorted(archive.infolist(), key=lambda info: info.filename):
                if wanted(info.filename):
                    yield info.filename, _content(path, file, archive, info)
    except (zipfile.BadZipFile, EOFError, struct.error) as error:
        raise SourceError(f"the zip file is damaged: {error}") from error


def _content(path: Path, file: BinaryIO, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes | Skipped:
    if info.file_size > LARGEST:
        return Skipped(f"{info.filename} unpacks to more than {LARGEST >> 20} MB", path)
    try:
        if info.compress_type == ZSTANDARD:
            return _zstandard(file, info)
        with archive.open(info) as entry:
            return entry.read(LARGEST)
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, OSError, ValueError, RuntimeError) as error:
        return Skipped(f"{info.filename} cannot be unpacked ({error})", path)


def _zstandard(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    import pyarrow as pa

    file.seek(info.header_offset)
    name, extra = LOCAL.unpack(file.read(LOCAL.size))
    file.seek(name + extra, 1)
    packed = file.read(info.compress_size)
    content: bytes = pa.decompress(packed, info.file_size, "zstd", asbytes=True) if info.file_size else b""
    if zlib.crc32(content) != info.CRC:
        raise zipfile.BadZipFile("its checksum does not fit")
    return content
