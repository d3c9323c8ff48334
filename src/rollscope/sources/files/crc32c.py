"""CRC-32C (Castagnoli) of many records at once.

TensorBoard's files use this checksum, and the standard library lacks it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MASK_DELTA = 0xA282EAD8
LONG = 512  # bytes of a long record
WIDTH = 256  # bytes of a row of a long record


def _table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(0x82F63B78), table >> 1)
    return table


TABLE = _table()


def masked(data: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The masked checksum of each row of [records, bytes], computed for all rows together."""
    crc = np.full(len(data), 0xFFFFFFFF, np.uint32)
    for column in np.ascontiguousarray(data.T):
        crc = TABLE[(crc ^ column) & 0xFF] ^ (crc >> 8)
    return _mask(np.invert(crc))


def matches(
    raw: NDArray[np.uint8], begin: NDArray[np.int64], size: NDArray[np.int64], stored: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    """True for each record `raw[begin : begin + size]` whose checksum equals the stored one.

    Short records of one length are checked together, and all long ones. Time is linear.
    """
    good = np.zeros(len(begin), bool)
    order = np.argsort(size, kind="stable")
    first_long = int(np.searchsorted(size[order], LONG))
    lengths, starts = np.unique(size[order[:first_long]], return_index=True)
    for length, rows in zip(lengths.tolist(), np.split(order[:first_long], starts[1:]), strict=bool(len(lengths))):
        most = max(1, (1 << 24) // max(1, length))  # at most 16 MB of gathered bytes at a time
        for i in range(0, len(rows), most):
            some = rows[i : i + most]
            good[some] = masked(raw[begin[some, None] + np.arange(length)]) == stored[some]
    long = order[first_long:]
    good[long] = _of_long(raw, begin[long], size[long]) == stored[long]
    return good


def _of_long(raw: NDArray[np.uint8], begin: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The masked checksums of records of at least four bytes and any length.

    Records are cut into rows, whose checksums are computed together and then joined in pairs: the
    checksum of A and B is that of A, shifted by the length of B, plus that of B. Zeros in front do
    not change a checksum that begins with zero; inverting the first four bytes stands for the usual
    beginning with ones.
    """
    rows = -(-size // WIDTH)
    ends = np.cumsum(rows)
    padded = np.zeros((int(rows.sum()), WIDTH), np.uint8)
    flat = padded.reshape(-1)
    for at, length, end in zip(begin.tolist(), size.tolist(), (ends * WIDTH).tolist(), strict=True):
        flat[end - length : end] = raw[at : at + length]
        flat[end - length : end - length + 4] ^= 0xFF
    crc = np.zeros(len(padded), np.uint32)
    for column in np.ascontiguousarray(padded.T):
        crc = TABLE[(crc ^ column) & 0xFF] ^ (crc >> 8)
    joined = np.zeros(len(size), np.uint32)
    power = np.array([(n - 1).bit_length() for n in rows.tolist()], np.int64)
    for k in np.unique(power).tolist():
        some = np.flatnonzero(power == k)
        index = ends[some, None] - (1 << k) + np.arange(1 << k)
        first = (ends - rows)[some, None]  # rows before it are zeros, and so are their checksums
        joined[some] = _join(np.where(index >= first, crc[np.maximum(index, 0)], np.uint32(0)))
    return _mask(np.invert(joined))


def _join(crc: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The checksum of each record from those of its rows, [records, rows], rows a power of two."""
    shift = _shift_of_a_row()
    while crc.shape[1] > 1:
        crc = _apply(shift, crc[:, ::2]) ^ crc[:, 1::2]
        shift = _apply(shift, shift)  # twice as far
    return crc[:, 0]


@lru_cache(maxsize=1)
def _shift_of_a_row() -> NDArray[np.uint32]:
    """What a row of zeros behind a checksum does to each of its 32 bits."""
    bits = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for _ in range(WIDTH):
        bits = TABLE[bits & 0xFF] ^ (bits >> 8)
    return bits


def _apply(shift: NDArray[np.uint32], crc: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Shift checksums: the sum, without carry, of what happens to their bits."""
    result = np.zeros(crc.shape, np.uint32)
    for bit in range(32):
        result ^= np.where(crc >> np.uint32(bit) & np.uint32(1), shift[bit], np.uint32(0))
    return result


def _mask(crc: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return np.asarray(((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(MASK_DELTA), np.uint32)
