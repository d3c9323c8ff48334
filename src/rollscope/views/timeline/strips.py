"""How busy and how full the machines were over a stretch of time, for the lanes of a page.

A machine with GPUs has a strip for each of them, another one strip for its processors. A strip
belongs to the first unit whose spans the same process recorded; nothing measured is None.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store.run import Run

from .picture import Lanes, lanes_of
from .rows import NONE, Ints

MOST_POINTS = 600
MOST_STRIPS = 64
GPU = ("host/gpu_utilisation", "host/gpu_memory_share")
CPU = ("host/cpu_utilisation", "host/memory_share")


def strips(run: Run, lo: int, hi: int, points: int) -> list[dict[str, Any]]:
    """For each machine or GPU its busy share and its memory share, in equal parts of a stretch."""
    table = run.remember("timeline host", lambda: _readings(run))
    lanes, size = lanes_of(run), max(1, min(MOST_POINTS, points))
    times = np.asarray(table["time_ns"])
    first, last = np.searchsorted(times, (lo, hi))
    near = table.slice(int(first), int(last - first))
    part = np.minimum(size - 1, (times[first:last] - lo) * size // max(1, hi - lo))
    units = run.remember("timeline machines", lambda: _units(lanes, table))
    return [_strip(near, part, size, *place) for place in units[:MOST_STRIPS]]


def _readings(run: Run) -> pa.Table:
    """What was measured of machines, in time order."""
    table = run.table("host", ("time_ns", "host", "device", "name", "value", "writer"), as_arrow=True)
    table = table.filter(pc.is_in(table["name"], pa.array([*GPU, *CPU], table["name"].type)))
    table = table.filter(table["time_ns"].is_valid())
    return table.take(pa.array(np.argsort(np.asarray(table["time_ns"]), kind="stable")))


def _units(lanes: Lanes, table: pa.Table) -> list[tuple[str, str, str, str]]:
    """Host, device of each quantity, and the unit it belongs to; GPUs where there are some."""
    seen = dict.fromkeys(zip(*(table[name].to_pylist() for name in ("host", "device", "name", "writer")), strict=True))
    with_gpus = {host for host, _, name, _ in seen if name == GPU[0]}
    found: dict[tuple[str, str, str], str] = {}
    for host, device, name, writer in seen:
        if name == (GPU[0] if host in with_gpus else CPU[0]):
            found.setdefault((host or "", device or "", name), _unit_of(lanes, writer))
    return [(*key, unit) for key, unit in sorted(found.items())]


def _unit_of(lanes: Lanes, writer: str | None) -> str:
    """The first unit on the page among those whose spans a process recorded."""
    rows = lanes.rows
    code = rows.writers.index(writer) if writer in rows.writers else NONE
    tracks: Ints = lanes.track[rows.writer == code]
    return lanes.tracks[int(tracks.min())]["unit"] if len(tracks) else ""


def _strip(near: pa.Table, part: Ints, size: int, host: str, device: str, name: str, unit: str) -> dict[str, Any]:
    fills = GPU[1] if name == GPU[0] else CPU[1]
    at = pc.equal(near["host"], host) if host else pc.or_kleene(near["host"].is_null(), pc.equal(near["host"], ""))
    of = pc.and_(at, pc.equal(near["device"], device)) if name == GPU[0] else at
    return {
        "host": host,
        "device": device,
        "unit": unit,
        "busy": _means(near, part, size, pc.and_(of, pc.equal(near["name"], name))),
        "full": _means(near, part, size, pc.and_(of, pc.equal(near["name"], fills))),
    }


def _means(near: pa.Table, part: Ints, size: int, which: Any) -> list[float | None]:
    own = np.flatnonzero(np.asarray(pc.fill_null(which, False)))
    values = np.asarray(pc.fill_null(near["value"], np.nan), np.float64)[own]
    known = ~np.isnan(values)
    count = np.bincount(part[own][known], minlength=size)
    total = np.bincount(part[own][known], values[known], size)
    return [float(t / n) if n else None for t, n in zip(total.tolist(), count.tolist(), strict=True)]
