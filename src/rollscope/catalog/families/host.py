"""The machine: GPUs, processor, memory, disk and network, read by the recorder's watcher. Shares are 0 to 1, memory GiB, traffic MiB/s."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.reported import reported, telescope, trinity, verl
from rollscope.catalog.spec import Good, Name

NVML = ("NVML through pynvml",)
PSUTIL = ("psutil, or /proc",)
KEPT = ("the framework's own reading",)


def read_off(
    name: str,
    unit: str,
    good: Good,
    meaning: str,
    definition: str,
    read: str,
    check: str,
    example: str,
    *names: Name,
    **more: Any,
) -> None:
    reported(
        f"host/{name}",
        unit,
        good,
        meaning,
        definition,
        read,
        check,
        example,
        *names,
        **{"kind": "last", "producer": "host", "needs": NVML, "range": (0.0, None)} | more,
    )


read_off("gpu_utilisation", "share", "up", "Share of the time a GPU ran any kernel.", "NVML's utilisation.gpu of the last sampling interval, 0 to 1, one series a device.", "1 says busy, not efficient: one small kernel at a time also reads 1. Use perf/mfu/policy for work done.", "time/waiting_for_data; host/cpu_utilisation, is the process starving it", "0.97", telescope("gpu_utilization_percent", scale=100.0), range=(0.0, 1.0))  # fmt: skip
read_off("gpu_memory_used", "GiB", "context", "Memory in use on a GPU, of all processes.", "NVML's memory.used, GiB, one series a device.", "Close to the total just before an out-of-memory error. The caching allocator makes it look fuller than it is.", "host/torch_allocated; length/response/max; engine's memory share", "71.2", telescope("gpu_memory_used_gb"))  # fmt: skip
read_off("gpu_memory_free", "GiB", "context", "Memory free on a GPU.", "NVML's memory.free, GiB.", "Room left for longer sequences.", "host/gpu_memory_used", "8.8", telescope("gpu_memory_free_gb"), producer="framework", needs=KEPT)  # fmt: skip
read_off("gpu_memory_share", "share", "context", "Share of a GPU's memory in use.", "memory.used / memory.total.", "Above 0.95 the next long batch may not fit.", "token budget of a micro-batch; host/torch_reserved", "0.89", telescope("gpu_memory_used_percent", scale=100.0), range=(0.0, 1.0))  # fmt: skip
read_off("gpu_memory_bandwidth", "share", "context", "Share of the time a GPU's memory was being read or written.", "NVML's utilisation.memory, 0 to 1.", "High in generation, which is bound by memory; low in training.", "batch size of the engine", "0.6", telescope("gpu_memory_bandwidth_utilization_percent", scale=100.0), range=(0.0, 1.0), producer="framework", needs=KEPT)  # fmt: skip
read_off("gpu_temperature", "°C", "down", "Temperature of a GPU.", "NVML's temperature of the chip.", "Throttling starts in the eighties.", "host/gpu_clock, did it fall; cooling", "64", telescope("gpu_temperature_c"))  # fmt: skip
read_off("gpu_power", "W", "context", "Power a GPU draws.", "NVML's power draw.", "A good proxy for real work: a busy GPU at a third of its limit is waiting for memory or for others.", "host/gpu_utilisation; perf/mfu/policy", "612", telescope("gpu_power_w"))  # fmt: skip
read_off("gpu_clock", "MHz", "up", "Clock of a GPU's processors.", "NVML's SM clock.", "One device below its siblings is a straggler: heat or a power cap.", "host/gpu_temperature; power limits", "1830", telescope("gpu_clock_sm_mhz"))  # fmt: skip
read_off("gpu_clock_memory", "MHz", "context", "Clock of a GPU's memory.", "NVML's memory clock.", "Constant under load.", "host/gpu_clock", "2619", telescope("gpu_clock_mem_mhz"), producer="framework", needs=KEPT)  # fmt: skip
read_off("gpu_fan", "share", "context", "Fan speed of a GPU.", "NVML's fan speed, 0 to 1; absent on passively cooled cards.", "At 1 with rising temperature cooling is at its end.", "host/gpu_temperature", "0.7", telescope("gpu_fan_speed_percent", scale=100.0), range=(0.0, 1.0), producer="framework", needs=KEPT)  # fmt: skip
read_off("cpu_utilisation", "share", "context", "Share of all processor cores in use.", "psutil's cpu_percent over the last interval / 100.", "Near 1 the loaders, tools and sandboxes fight with the trainer for cores.", "reward functions; number of workers", "0.45", telescope("cpu_utilization_percent", scale=100.0), needs=PSUTIL, range=(0.0, 1.0))  # fmt: skip
read_off("cpu_core_utilisation/{i}", "share", "context", "Use of one processor core.", "psutil's per-core cpu_percent / 100.", "One core at 1 and the rest idle is a single-threaded bottleneck.", "Python work in the main process", "1.0", telescope("cpu_core_{i}_utilization_percent", scale=100.0), range=(0.0, 1.0), producer="framework", needs=KEPT)  # fmt: skip
read_off("memory_used", "GiB", "context", "Main memory in use on a host.", "psutil's virtual_memory().used, GiB.", "A steady climb is a leak; the end of it is the operating system's killer.", "buffers that only grow; pinned memory; number of workers", "210", telescope("system_memory_used_gb"), verl("perf/cpu_memory_used_gb", note="a mean over ranks, so hosts with several ranks count several times; in 0.9 under actor/perf/"), verl("actor/perf/cpu_memory_used_gb", versions=">=0.9"), trinity("perf/cpu_memory_used_gb"), needs=PSUTIL)  # fmt: skip
read_off("memory_available", "GiB", "up", "Main memory left for programs.", "psutil's virtual_memory().available, GiB.", "Near 0 processes get killed without a word.", "host/memory_used", "290", telescope("system_memory_available_gb"), producer="framework", needs=KEPT)  # fmt: skip
read_off("memory_share", "share", "context", "Share of main memory in use.", "psutil's virtual_memory().percent / 100.", "Above 0.95 the next allocation may be the last.", "host/memory_used", "0.42", telescope("system_memory_percent", scale=100.0), needs=PSUTIL, range=(0.0, 1.0))  # fmt: skip
read_off("process_memory", "GiB", "context", "Main memory of the recording process.", "psutil's resident set size of the process, GiB.", "A climb here is this program's leak.", "replay buffers; cached rollouts", "12", needs=PSUTIL)  # fmt: skip
read_off("disk_share", "share", "context", "How full the disk is that runs are written to.", "1 - free / total of the run folder's file system.", "A full disk stops checkpoints. Recording is spooled and says so.", "old checkpoints; retention", "0.71", needs=PSUTIL, range=(0.0, 1.0))  # fmt: skip
read_off("disk_free", "GiB", "up", "Room left on the disk that runs are written to.", "free bytes of the run folder's file system, GiB.", "Against the size of a checkpoint.", "host/disk_share; old checkpoints", "512", needs=PSUTIL)  # fmt: skip
read_off("process_cpu", "cores", "context", "Processor cores the recording process keeps busy.", "user and system seconds of the process over the interval, per second.", "1 is one core; a trainer's main process near 1 is bound by Python.", "host/process_threads; work in the main thread", "1.4", needs=PSUTIL)  # fmt: skip
read_off("process_threads", "count", "context", "Threads of the recording process.", "number of threads at the reading.", "A climb is a leak of threads.", "pools that are never closed", "42", needs=PSUTIL)  # fmt: skip
read_off("disk_read", "MiB/s", "context", "Speed of reading from disks.", "difference of psutil's disk_io_counters().read_bytes over the interval.", "Peaks when data or checkpoints are loaded.", "time/read_samples", "180", needs=PSUTIL)  # fmt: skip
read_off("disk_written", "MiB/s", "context", "Speed of writing to disks.", "difference of psutil's disk_io_counters().write_bytes over the interval.", "Peaks at checkpoints.", "time/save_checkpoint", "950", needs=PSUTIL)  # fmt: skip
read_off("network_received", "MiB/s", "context", "Network traffic coming in.", "difference of psutil's net_io_counters().bytes_recv over the interval; InfiniBand is not in it.", "Peaks with weight updates and data.", "time/sync_weights", "420", needs=PSUTIL)  # fmt: skip
read_off("network_sent", "MiB/s", "context", "Network traffic going out.", "difference of psutil's net_io_counters().bytes_sent over the interval; InfiniBand is not in it.", "Peaks with weight updates.", "time/sync_weights", "420", needs=PSUTIL)  # fmt: skip
read_off("torch_allocated", "GiB", "context", "GPU memory held by live tensors.", "torch.cuda.memory_allocated of the rank, GiB.", "The real need. A climb over steps is a leak of tensors.", "lists of tensors that keep graphs alive", "44", telescope("torch_allocated_gb"), needs=("torch",))  # fmt: skip
read_off("torch_reserved", "GiB", "context", "GPU memory the allocator has taken from the driver.", "torch.cuda.memory_reserved of the rank, GiB.", "Much more than allocated is fragmentation.", "expandable segments; varying shapes", "61", telescope("torch_reserved_gb"), needs=("torch",))  # fmt: skip
read_off("torch_allocated_peak", "GiB", "context", "Highest GPU memory of live tensors so far.", "torch.cuda.max_memory_allocated of the rank, GiB; the highest of the ranks.", "How near the longest batch came to the end.", "length/response/max; micro-batch size", "68.5", telescope("torch_max_allocated_gb"), verl("perf/max_memory_allocated_gb", versions="<0.9"), verl("actor/perf/max_memory_allocated_gb", versions=">=0.9"), trinity("perf/max_memory_allocated_gb"), kind="max", needs=("torch",))  # fmt: skip
read_off("torch_reserved_peak", "GiB", "context", "Highest GPU memory the allocator has taken so far.", "torch.cuda.max_memory_reserved of the rank, GiB; the highest of the ranks.", "What the driver saw at worst.", "host/torch_allocated_peak", "74.0", verl("perf/max_memory_reserved_gb", versions="<0.9"), verl("actor/perf/max_memory_reserved_gb", versions=">=0.9"), trinity("perf/max_memory_reserved_gb"), kind="max", producer="framework", needs=KEPT)  # fmt: skip
read_off("pool/{pool}/busy", "share", "context", "Use of a pool of workers.", "workers of the pool / its limit, as the framework's pool monitor reads it.", "Telescope counts threads ever started, so it does not fall again.", "host/pool/{pool}/queue", "0.4", telescope("{pool}/utilization_percent", scale=100.0), telescope("{pool}/active_threads", same=False, note="threads ever started, not busy ones"), telescope("{pool}/active_processes", same=False, note="processes of the pool"), telescope("{pool}/max_workers", same=False, note="the pool's limit"), needs=("the framework's pool monitor",), producer="framework", range=(0.0, 1.0))  # fmt: skip
read_off("pool/{pool}/queue", "count", "down", "Work waiting for a pool.", "length of the pool's queue at the reading.", "A queue that grows is a pool too small.", "host/pool/{pool}/busy", "3", telescope("{pool}/queue_depth"), needs=("the framework's pool monitor",), producer="framework")  # fmt: skip
