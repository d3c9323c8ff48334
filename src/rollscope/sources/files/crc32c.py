"""CRC-32C (Castagnoli) of many records at once.

TensorBoard's files use this checksum, and the standard library lacks it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MASK_DELTA = 0xA282EAD8


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
    crc = np.invert(crc)
    return np.asarray(((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(MASK_DELTA), np.uint32)


def matches(
    raw: NDArray[np.uint8], begin: NDArray[np.int64], size: NDArray[np.int64], stored: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    """True for each record `raw[begin : begin + size]` whose checksum equals the stored one."""
    good = np.zeros(len(begin), bool)
    for length in np.unique(size).tolist():
        rows = np.flatnonzero(size == length)
        most = max(1, (1 << 24) // max(1, length))  # at most 16 MB of gathered bytes at a time
        for i in range(0, len(rows), most):
            some = rows[i : i + most]
            good[some] = masked(raw[begin[some, None] + np.arange(length)]) == stored[some]
    return good
