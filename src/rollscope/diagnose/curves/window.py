"""Statistics that several rules use: robust levels, and the noise a change must exceed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import rank_filter

from .series import FloatArray


def level(value: FloatArray, width: int) -> FloatArray:
    """Median of the last `width` points at each point; one outlier does not move it."""
    if len(value) > width > 1 and np.isfinite(value).all():
        first = [np.median(value[:end]) for end in range(1, width)]
        return np.concatenate([first, _medians(value, width)[width - 1 :]])
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([np.full(width - 1, np.nan), value]), width)
    return np.asarray(np.nanmedian(windows, axis=1), np.float64)


def _medians(value: FloatArray, width: int) -> FloatArray:
    """The medians of whole windows, by ranks: a tenth of the time of a median of each window."""
    middle = {(width - 1) // 2, width // 2}
    ranked = [rank_filter(value, rank, size=width, origin=(width - 1) // 2) for rank in middle]
    return np.asarray(sum(ranked) / len(ranked), np.float64)


def average(value: FloatArray, width: int) -> FloatArray:
    """Mean of the last `width` points at each point."""
    total = np.cumsum(np.concatenate([[0.0], value]))
    end = np.arange(1, len(value) + 1)
    start = np.maximum(end - width, 0)
    return np.asarray((total[end] - total[start]) / (end - start), np.float64)


def noise(value: FloatArray) -> float:
    """Robust deviation of first differences over √2, so that a trend does not count as noise."""
    if len(value) < 3:
        return 0.0
    steps = np.diff(value)
    return float(1.4826 * np.median(np.abs(steps - np.median(steps))) / np.sqrt(2))


def last_stretch(mask: NDArray[np.bool_]) -> int:
    """Start of the last unbroken stretch of True; len(mask) if the mask does not end in True."""
    if not len(mask) or not mask[-1]:
        return len(mask)
    return len(mask) - int(np.argmin(mask[::-1])) if not mask.all() else 0
