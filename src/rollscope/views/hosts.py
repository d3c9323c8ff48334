"""The machines of a run as a table: one row per host, one column per quantity, the worst first.

A cell is a quantity over time, of the device that matters: the fullest memory, the hottest GPU, the
mean of utilisations. Memory that grows is carried on to where it meets its limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from rollscope.store.run import Run

from .host_lanes import lanes_by_host, told

Floats = NDArray[np.float64]
BUCKETS = 120
LATE = 3  # buckets that a late reading may skip
LEAST_POINTS = 12  # of a memory that is carried on
FAST = 0.02  # of its limit, that memory must gain over what is seen of it


@dataclass(frozen=True, slots=True)
class Quantity:
    title: str
    unit: str
    names: tuple[str, ...]  # as recorded; a name may begin with an engine's prefix
    joined: Literal["mean", "max", "sum"]  # over the devices of a host
    high: float | None = None  # worth a look from here on


QUANTITIES = (
    Quantity("GPU busy", "share", ("host/gpu_utilisation",), "mean"),
    Quantity("GPU memory", "GB", ("host/gpu_memory_used",), "max"),
    Quantity("Power", "W", ("host/gpu_power",), "max"),
    Quantity("Temperature", "°C", ("host/gpu_temperature",), "max", 90),
    Quantity("CPU", "share", ("host/cpu_utilisation",), "max", 0.95),
    Quantity("Memory", "share", ("host/memory_share",), "max", 0.95),
    Quantity("Disk", "MB/s", ("host/disk_written",), "sum"),
    Quantity("Network", "MB/s", ("host/network_sent",), "sum"),
    Quantity("Running", "requests", ("num_requests_running", "num_running_reqs"), "sum"),
    Quantity("Waiting", "requests", ("num_requests_waiting", "num_queue_reqs"), "sum"),
    Quantity("KV cache", "share", ("kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage"), "max", 0.95),
    Quantity("Cache hit", "share", ("engine/cache_hit_share", "cache_hit_rate"), "mean"),
    Quantity("Tokens", "per s", ("gen_throughput", "avg_generation_throughput_toks_per_s"), "sum"),
)


def hosts(run: Run) -> dict[str, Any]:
    """Every host with its cells and its devices, the worst first."""
    table = run.table("host", ("time_ns", "host", "device", "name", "value", "writer"), as_arrow=True)
    times = np.asarray(pc.fill_null(table["time_ns"], 0))
    if not len(times):
        return {"start_ns": 0, "end_ns": 0, "columns": [], "hosts": []}
    lo, hi = int(times.min()), int(times.max())
    words = {name: np.array(table[name].to_pylist(), object) for name in ("host", "device", "name")}
    values = np.asarray(pc.fill_null(table["value"], np.nan), np.float64)
    size = _size(words)
    bucket = np.minimum(size - 1, (times - lo) * size // max(1, hi - lo))
    present = [q for q in QUANTITIES if any(_is(q, name) for name in set(words["name"].tolist()))]
    rows = [
        _host(host, present, words, values, bucket, words["host"] == host, (hi - lo) / 1e9 / size)
        for host in sorted({str(host) for host in words["host"].tolist()})
    ]
    rows.sort(key=lambda row: (-row["weight"], row["host"]))
    lanes = lanes_by_host(run, table)
    for row in rows:
        row["does"] = told(lanes.get(row["host"], set()))
    columns = [{"title": q.title, "unit": q.unit} for q in present]
    return {"start_ns": lo, "end_ns": hi, "columns": columns, "hosts": rows}


def _size(words: Any) -> int:
    """As many buckets as the longest series has points: then a steady one has no gaps."""
    series = zip(*(words[name].tolist() for name in ("host", "device", "name")), strict=True)
    return max(2, min(BUCKETS, Counter(series).most_common(1)[0][1] - 1))


def _is(quantity: Quantity, name: str | None) -> bool:
    return name is not None and name.endswith(quantity.names)


def _host(
    host: str, present: list[Quantity], words: Any, values: Floats, bucket: Any, own: Any, every: float
) -> dict[str, Any]:
    size = int(bucket.max()) + 1
    cells: list[dict[str, Any] | None] = []
    devices: dict[str, list[dict[str, Any] | None]] = {}
    problems: list[tuple[int, str]] = []
    for at, quantity in enumerate(present):
        mine = own & np.array([_is(quantity, name) for name in words["name"].tolist()])
        by_device = {
            str(device): _means(values[which], bucket[which], size)
            for device in sorted({str(d) for d in words["device"][mine].tolist()})
            if (which := mine & (words["device"] == device)).any()
        }
        joined = _joined(quantity, [*by_device.values()], size)
        limit = _limit(words, values, own) if quantity.title == "GPU memory" else None
        cells.append(_cell(joined, limit, every, quantity.high))
        problems += list(_problems(quantity, cells[-1]))
        for device, series in by_device.items() if len(by_device) > 1 else ():  # one alone is the host's own cell
            devices.setdefault(device, [None] * len(present))[at] = _cell(series, limit, every)
    status = max((p[0] for p in problems), default=0)
    return {
        "host": host,
        "status": ("none", "watch", "bad")[status],
        "says": next((says for weight, says in problems if weight == status), ""),
        "weight": status,
        "cells": cells,
        "devices": [{"device": device, "cells": own_cells} for device, own_cells in devices.items()],
    }


def _means(values: Floats, bucket: Any, size: int) -> Floats:
    """The mean of each bucket; NaN where nothing was measured. A late reading leaves no gap."""
    known = ~np.isnan(values)
    count = np.bincount(bucket[known], minlength=size)
    total = np.bincount(bucket[known], values[known], size)
    means = np.where(count > 0, total / np.maximum(1, count), np.nan)
    late = _between_readings(np.bincount(bucket, minlength=size) > 0)
    means[late] = np.interp(late, np.flatnonzero(count), means[count > 0]) if count.any() else np.nan
    return means


def _between_readings(has_rows: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Buckets that a reading, which came a little late, has skipped."""
    read = np.flatnonzero(has_rows)
    after = np.diff(read)
    skipped = [np.arange(at + 1, at + gap) for at, gap in zip(read.tolist(), after.tolist(), strict=False)]
    late = [part for part in skipped if 0 < len(part) <= LATE]
    return np.concatenate([np.zeros(0, np.int64), *late])


def _joined(quantity: Quantity, series: list[Floats], size: int) -> Floats:
    if not series:
        return np.full(size, np.nan)
    stacked = np.array(series)
    nothing = np.isnan(stacked).all(0)
    filled = np.where(np.isnan(stacked), -np.inf if quantity.joined == "max" else 0.0, stacked)
    counted = np.maximum(1, (~np.isnan(stacked)).sum(0))
    made = {"max": filled.max(0), "sum": filled.sum(0), "mean": filled.sum(0) / counted}[quantity.joined]
    return np.where(nothing, np.nan, made)


def _limit(words: Any, values: Floats, own: Any) -> float | None:
    """The size of a GPU's memory: what is used, over the share that is."""
    used, share = (values[own & (words["name"] == f"host/gpu_memory_{what}")] for what in ("used", "share"))
    known = share[-1] if len(share) else 0.0
    return float(used[-1] / known) if len(used) and known > 0 else None


def _cell(series: Floats, limit: float | None, every: float, high: float | None = None) -> dict[str, Any] | None:
    known = np.flatnonzero(~np.isnan(series))
    if not len(known):
        return None
    return {
        "values": [None if np.isnan(v) else float(v) for v in series],
        "last": float(series[known[-1]]),
        "limit": limit,
        "is_high": high is not None and float(series[known[-1]]) >= high,
        "full_in_s": None if limit is None else full_in(series, limit, every),
    }


def full_in(series: Floats, limit: float, every: float) -> float | None:
    """Seconds until a growing memory meets its limit, by its median slope; None if it is steady."""
    known = np.flatnonzero(~np.isnan(series))
    recent = known[len(known) // 2 :]
    if len(recent) < LEAST_POINTS:
        return None
    half = len(recent) // 2
    slopes = (series[recent[half : 2 * half]] - series[recent[:half]]) / (recent[half : 2 * half] - recent[:half])
    slope = float(np.median(slopes))
    if slope * len(recent) < FAST * limit or float(np.mean(slopes > 0)) < 0.8:
        return None
    return max(0.0, (limit - float(series[recent[-1]])) / slope * every)


def _problems(quantity: Quantity, cell: dict[str, Any] | None) -> Iterator[tuple[int, str]]:
    """How much a cell matters, and why: 2 is bad, 1 worth a look."""
    if cell is None:
        return
    if cell["full_in_s"] is not None:
        minutes = cell["full_in_s"] / 60
        yield 2, f"runs out of GPU memory in about {minutes:.0f} minutes, at its present growth"
    elif quantity.high is not None and cell["is_high"]:
        yield 1, f"has {quantity.title} at {_said(cell['last'], quantity)}; {_said(quantity.high, quantity)} is high"


def _said(value: float, quantity: Quantity) -> str:
    return f"{100 * value:.0f} %" if quantity.unit == "share" else f"{value:.3g} {quantity.unit}"
