"""The machine: processors, memory, disk, network, GPUs through NVML, and torch's allocator.

GPUs are read where NVML is installed, the allocator where torch is in use. Shares are 0 to 1,
memory is GiB, traffic MiB per second, power W, temperature °C. Rates cover the time since the last
reading.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator

from .watchers import Reading

GIB = 2**30
MIB = 2**20
Counters = dict[tuple[str, str], float]  # (device, quantity) -> a total that only grows, in the unit of the rate
Machine = Callable[[], tuple[list[Reading], Counters]]


def probe(folder: str) -> Callable[[], Iterator[Reading]]:
    """A function that reads everything there is on this machine. `folder` says which disk."""
    machine = _psutil() or _proc()
    gpus = _nvml()
    before: Counters = {}
    last = 0.0

    def read() -> Iterator[Reading]:
        nonlocal before, last
        levels, totals = machine()
        now = time.monotonic()
        yield from levels
        for (device, name), total in totals.items():
            if (device, name) in before and now > last:
                yield device, name, max(0.0, (total - before[device, name]) / (now - last))
        before, last = totals, now
        yield from _disk(folder)
        yield from gpus()
        yield from _torch()

    return read


def _psutil() -> Machine | None:
    try:
        import psutil
    except ImportError:
        return None
    own = psutil.Process()

    def read() -> tuple[list[Reading], Counters]:
        memory = psutil.virtual_memory()
        levels: list[Reading] = [
            ("cpu", "host/cpu_utilisation", psutil.cpu_percent() / 100),
            ("memory", "host/memory_used", (memory.total - memory.available) / GIB),
            ("memory", "host/memory_share", 1 - memory.available / memory.total),
            ("process", "host/process_memory", own.memory_info().rss / GIB),
            ("process", "host/process_threads", own.num_threads()),
        ]
        times = own.cpu_times()
        totals: Counters = {("process", "host/process_cpu"): times.user + times.system}
        disk, net = psutil.disk_io_counters(), psutil.net_io_counters()
        if disk is not None:
            totals["disk", "host/disk_read"] = disk.read_bytes / MIB
            totals["disk", "host/disk_written"] = disk.write_bytes / MIB
        if net is not None:
            totals["net", "host/network_received"] = net.bytes_recv / MIB
            totals["net", "host/network_sent"] = net.bytes_sent / MIB
        return levels, totals

    return read


def _proc() -> Machine:
    """The same from /proc, where psutil is not installed."""
    ticks = os.sysconf("SC_CLK_TCK")
    busy_before = total_before = 0.0

    def cpu_share() -> float:
        nonlocal busy_before, total_before
        numbers = [float(word) for word in _text("/proc/stat").split("\n", 1)[0].split()[1:9]]
        total, busy = sum(numbers), sum(numbers) - numbers[3] - numbers[4]
        share = (busy - busy_before) / (total - total_before) if total > total_before > 0 else 0.0
        busy_before, total_before = busy, total
        return share

    def read() -> tuple[list[Reading], Counters]:
        memory = _meminfo()
        used = memory["MemTotal"] - memory["MemAvailable"]
        fields = _text("/proc/self/stat").rpartition(")")[2].split()
        levels: list[Reading] = [
            ("cpu", "host/cpu_utilisation", cpu_share()),
            ("memory", "host/memory_used", used / GIB),
            ("memory", "host/memory_share", used / memory["MemTotal"]),
            ("process", "host/process_memory", float(fields[21]) * os.sysconf("SC_PAGE_SIZE") / GIB),
            ("process", "host/process_threads", float(fields[17])),
        ]
        cpu_seconds = (float(fields[11]) + float(fields[12])) / ticks
        return levels, {("process", "host/process_cpu"): cpu_seconds} | _disks() | _network()

    return read


def _meminfo() -> dict[str, float]:
    """Name -> bytes."""
    lines = [line.split() for line in _text("/proc/meminfo").splitlines()]
    return {words[0].rstrip(":"): float(words[1]) * 1024 for words in lines if len(words) > 1}


def _disks() -> Counters:
    rows = [line.split() for line in _text("/proc/diskstats").splitlines()]
    disks = [row for row in rows if len(row) > 9 and _is_disk(row[2])]
    return {
        ("disk", "host/disk_read"): sum(float(row[5]) for row in disks) * 512 / MIB,
        ("disk", "host/disk_written"): sum(float(row[9]) for row in disks) * 512 / MIB,
    }


def _is_disk(name: str) -> bool:
    """Is it a disk, and not a partition or a virtual device?"""
    return os.path.exists(f"/sys/block/{name}") and not name.startswith(("loop", "ram", "dm-"))


def _network() -> Counters:
    rows = [line.replace(":", " ").split() for line in _text("/proc/net/dev").splitlines()[2:]]
    rows = [row for row in rows if row and row[0] != "lo"]
    return {
        ("net", "host/network_received"): sum(float(row[1]) for row in rows) / MIB,
        ("net", "host/network_sent"): sum(float(row[9]) for row in rows) / MIB,
    }


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _disk(folder: str) -> Iterator[Reading]:
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    usage = shutil.disk_usage(folder)
    yield "disk", "host/disk_free", usage.free / GIB
    yield "disk", "host/disk_share", 1 - usage.free / usage.total


def _nvml() -> Callable[[], Iterator[Reading]]:
    """A function that reads the GPUs; nothing where there is no NVML."""
    try:
        import pynvml as nvml

        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    except Exception:  # no package, no driver or no permission: a machine without GPUs
        return lambda: iter(())
    readers: dict[str, Callable[[object], float]] = {
        "host/gpu_utilisation": lambda h: nvml.nvmlDeviceGetUtilizationRates(h).gpu / 100,
        "host/gpu_memory_used": lambda h: nvml.nvmlDeviceGetMemoryInfo(h).used / GIB,
        "host/gpu_memory_share": lambda h: nvml.nvmlDeviceGetMemoryInfo(h).used / nvml.nvmlDeviceGetMemoryInfo(h).total,
        "host/gpu_memory_free": lambda h: nvml.nvmlDeviceGetMemoryInfo(h).free / GIB,
        "host/gpu_memory_bandwidth": lambda h: nvml.nvmlDeviceGetUtilizationRates(h).memory / 100,
        "host/gpu_clock_memory": lambda h: nvml.nvmlDeviceGetClockInfo(h, nvml.NVML_CLOCK_MEM),
        "host/gpu_power": lambda h: nvml.nvmlDeviceGetPowerUsage(h) / 1000,
        "host/gpu_temperature": lambda h: nvml.nvmlDeviceGetTemperature(h, nvml.NVML_TEMPERATURE_GPU),
        "host/gpu_clock": lambda h: nvml.nvmlDeviceGetClockInfo(h, nvml.NVML_CLOCK_SM),
    }

    def read() -> Iterator[Reading]:
        for i, handle in enumerate(handles):
            for name, reader in readers.items():
                try:
                    yield f"gpu{i}", name, reader(handle)
                except nvml.NVMLError:  # not every card has every reading
                    continue

    return read


def _torch() -> Iterator[Reading]:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda") or not torch.cuda.is_initialized():  # reading would make a context
        return
    for i in range(torch.cuda.device_count()):
        yield f"gpu{i}", "host/torch_allocated", torch.cuda.memory_allocated(i) / GIB
        yield f"gpu{i}", "host/torch_allocated_peak", torch.cuda.max_memory_allocated(i) / GIB
        yield f"gpu{i}", "host/torch_reserved", torch.cuda.memory_reserved(i) / GIB
        yield f"gpu{i}", "host/torch_reserved_peak", torch.cuda.max_memory_reserved(i) / GIB
