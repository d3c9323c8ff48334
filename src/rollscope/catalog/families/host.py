"""The machine: GPUs, processor, memory, disk and network, read by the recorder's watcher.

Shares are 0 to 1, memory is in GiB, traffic in MiB/s.
"""

from __future__ import annotations

from functools import partial

from rollscope.catalog.reported import reported, telescope, trinity, verl

NVML = ("NVML through pynvml",)
PSUTIL = ("psutil, or /proc",)
FRAMEWORK = ("the framework's own reading",)


reading = partial(reported, kind="last", producer="host", needs=NVML, range=(0.0, None))

reading(
    "host/gpu_utilisation",
    meaning="Share of the time a GPU ran any kernel.",
    definition="NVML's utilisation.gpu of the last sampling interval, 0 to 1, one series per device.",
    read=(
        "1 means busy, not efficient: one small kernel at a time also reads 1. For the work done, use perf/mfu/policy."
    ),
    check="time/waiting_for_data; host/cpu_utilisation: is the GPU waiting for the processor?",
    unit="share",
    good="up",
    example="0.97",
    range=(0.0, 1.0),
    names=(telescope("gpu_utilization_percent", scale=100.0),),
)
reading(
    "host/gpu_memory_used",
    meaning="Memory in use on a GPU, by all processes.",
    definition="NVML's memory.used, GiB, one series per device.",
    read=(
        "It is close to the total just before an out-of-memory error. The caching allocator makes "
        "it look fuller than it is."
    ),
    check="host/torch_allocated; length/response/max; the engine's share of memory",
    unit="GiB",
    good="context",
    example="71.2",
    names=(telescope("gpu_memory_used_gb"),),
)
reading(
    "host/gpu_memory_free",
    meaning="Memory free on a GPU.",
    definition="NVML's memory.free, GiB.",
    read="This room is left for longer sequences.",
    check="host/gpu_memory_used",
    unit="GiB",
    good="context",
    example="8.8",
    producer="framework",
    needs=FRAMEWORK,
    names=(telescope("gpu_memory_free_gb"),),
)
reading(
    "host/gpu_memory_share",
    meaning="Share of a GPU's memory in use.",
    definition="memory.used / memory.total.",
    read="Above 0.95, the next long batch may not fit.",
    check="token budget of a micro-batch; host/torch_reserved",
    unit="share",
    good="context",
    example="0.89",
    range=(0.0, 1.0),
    names=(telescope("gpu_memory_used_percent", scale=100.0),),
)
reading(
    "host/gpu_memory_bandwidth",
    meaning="Share of the time a GPU's memory was being read or written.",
    definition="NVML's utilisation.memory, 0 to 1.",
    read="High during generation, which is limited by memory; low during training.",
    check="batch size of the engine",
    unit="share",
    good="context",
    example="0.6",
    range=(0.0, 1.0),
    producer="framework",
    needs=FRAMEWORK,
    names=(telescope("gpu_memory_bandwidth_utilization_percent", scale=100.0),),
)
reading(
    "host/gpu_temperature",
    meaning="Temperature of a GPU.",
    definition="NVML's temperature of the chip.",
    read="Throttling starts in the eighties.",
    check="host/gpu_clock: did it fall?; cooling",
    unit="°C",
    good="down",
    example="64",
    names=(telescope("gpu_temperature_c"),),
)
reading(
    "host/gpu_power",
    meaning="Power a GPU draws.",
    definition="NVML's power draw.",
    read=(
        "A good proxy for real work: a busy GPU at a third of its power limit is waiting for memory or for other GPUs."
    ),
    check="host/gpu_utilisation; perf/mfu/policy",
    unit="W",
    good="context",
    example="612",
    names=(telescope("gpu_power_w"),),
)
reading(
    "host/gpu_clock",
    meaning="Clock of a GPU's processors.",
    definition="NVML's SM clock.",
    read="One device below the others is a straggler: heat or a power cap.",
    check="host/gpu_temperature; power limits",
    unit="MHz",
    good="up",
    example="1830",
    names=(telescope("gpu_clock_sm_mhz"),),
)
reading(
    "host/gpu_clock_memory",
    meaning="Clock of a GPU's memory.",
    definition="NVML's memory clock.",
    read="Constant under load.",
    check="host/gpu_clock",
    unit="MHz",
    good="context",
    example="2619",
    producer="framework",
    needs=FRAMEWORK,
    names=(telescope("gpu_clock_mem_mhz"),),
)
reading(
    "host/gpu_fan",
    meaning="Fan speed of a GPU.",
    definition="NVML's fan speed, 0 to 1; absent on passively cooled cards.",
    read="At 1 with rising temperature, the cooling has reached its limit.",
    check="host/gpu_temperature",
    unit="share",
    good="context",
    example="0.7",
    range=(0.0, 1.0),
    producer="framework",
    needs=FRAMEWORK,
    names=(telescope("gpu_fan_speed_percent", scale=100.0),),
)
reading(
    "host/cpu_utilisation",
    meaning="Share of all processor cores in use.",
    definition="psutil's cpu_percent over the last interval / 100.",
    read="Near 1, loaders, tools and sandboxes compete with the trainer for cores.",
    check="reward functions; number of workers",
    unit="share",
    good="context",
    example="0.45",
    needs=PSUTIL,
    range=(0.0, 1.0),
    names=(telescope("cpu_utilization_percent", scale=100.0),),
)
reading(
    "host/cpu_core_utilisation/{i}",
    meaning="Utilisation of one processor core.",
    definition="psutil's per-core cpu_percent / 100.",
    read="One core at 1 while the others are idle is a single-threaded bottleneck.",
    check="Python work in the main process",
    unit="share",
    good="context",
    example="1.0",
    range=(0.0, 1.0),
    producer="framework",
    needs=FRAMEWORK,
    names=(telescope("cpu_core_{i}_utilization_percent", scale=100.0),),
)
reading(
    "host/memory_used",
    meaning="Main memory in use on a host.",
    definition="psutil's virtual_memory().used, GiB.",
    read="A steady climb is a leak; it ends when the operating system kills a process.",
    check="buffers that only grow; pinned memory; number of workers",
    unit="GiB",
    good="context",
    example="210",
    needs=PSUTIL,
    names=(
        telescope("system_memory_used_gb"),
        verl(
            "perf/cpu_memory_used_gb",
            note="a mean over ranks, so a host with several ranks counts several times; in 0.9 it is under actor/perf/",
        ),
        verl("actor/perf/cpu_memory_used_gb", versions=">=0.9"),
        trinity("perf/cpu_memory_used_gb"),
    ),
)
reading(
    "host/memory_available",
    meaning="Main memory left for programs.",
    definition="psutil's virtual_memory().available, GiB.",
    read="Near 0, the operating system kills processes without a message.",
    check="host/memory_used",
    unit="GiB",
    good="up",
    example="290",
    producer="framework",
    needs=FRAMEWORK,
    names=(telescope("system_memory_available_gb"),),
)
reading(
    "host/memory_share",
    meaning="Share of main memory in use.",
    definition="psutil's virtual_memory().percent / 100.",
    read="Above 0.95, the next allocation may fail.",
    check="host/memory_used",
    unit="share",
    good="context",
    example="0.42",
    needs=PSUTIL,
    range=(0.0, 1.0),
    names=(telescope("system_memory_percent", scale=100.0),),
)
reading(
    "host/process_memory",
    meaning="Main memory of the recording process.",
    definition="psutil's resident set size of the process, GiB.",
    read="A climb here is a leak in this program.",
    check="replay buffers; cached rollouts",
    unit="GiB",
    good="context",
    example="12",
    needs=PSUTIL,
)
reading(
    "host/disk_share",
    meaning="How full the disk with the run folder is.",
    definition="1 - free / total of the run folder's file system.",
    read="A full disk stops checkpoints. Recording is spooled, and a notice says so.",
    check="old checkpoints; retention",
    unit="share",
    good="context",
    example="0.71",
    needs=PSUTIL,
    range=(0.0, 1.0),
)
reading(
    "host/disk_free",
    meaning="Free space on the disk with the run folder.",
    definition="free bytes of the run folder's file system, GiB.",
    read="Compare with the size of a checkpoint.",
    check="host/disk_share; old checkpoints",
    unit="GiB",
    good="up",
    example="512",
    needs=PSUTIL,
)
reading(
    "host/process_cpu",
    meaning="Number of processor cores that the recording process keeps busy.",
    definition="user and system seconds of the process over the interval, per second.",
    read="1 is one core. A trainer's main process near 1 is limited by Python.",
    check="host/process_threads; work in the main thread",
    unit="cores",
    good="context",
    example="1.4",
    needs=PSUTIL,
)
reading(
    "host/process_threads",
    meaning="Threads of the recording process.",
    definition="number of threads at the time of reading.",
    read="A climb means that threads leak.",
    check="pools that are never closed",
    unit="count",
    good="context",
    example="42",
    needs=PSUTIL,
)
reading(
    "host/disk_read",
    meaning="Speed of reading from disks.",
    definition="increase of psutil's disk_io_counters().read_bytes over the interval.",
    read="Peaks when data or checkpoints are loaded.",
    check="time/read_samples",
    unit="MiB/s",
    good="context",
    example="180",
    needs=PSUTIL,
)
reading(
    "host/disk_written",
    meaning="Speed of writing to disks.",
    definition="increase of psutil's disk_io_counters().write_bytes over the interval.",
    read="Peaks at checkpoints.",
    check="time/save_checkpoint",
    unit="MiB/s",
    good="context",
    example="950",
    needs=PSUTIL,
)
reading(
    "host/network_received",
    meaning="Network traffic coming in.",
    definition="increase of psutil's net_io_counters().bytes_recv over the interval; InfiniBand is not included.",
    read="Peaks with weight updates and data.",
    check="time/sync_weights",
    unit="MiB/s",
    good="context",
    example="420",
    needs=PSUTIL,
)
reading(
    "host/network_sent",
    meaning="Network traffic going out.",
    definition="increase of psutil's net_io_counters().bytes_sent over the interval; InfiniBand is not included.",
    read="Peaks with weight updates.",
    check="time/sync_weights",
    unit="MiB/s",
    good="context",
    example="420",
    needs=PSUTIL,
)
reading(
    "host/torch_allocated",
    meaning="GPU memory held by live tensors.",
    definition="torch.cuda.memory_allocated of the rank, GiB.",
    read="The real need for memory. A climb over steps means that tensors leak.",
    check="lists of tensors that keep graphs alive",
    unit="GiB",
    good="context",
    example="44",
    needs=("torch",),
    names=(telescope("torch_allocated_gb"),),
)
reading(
    "host/torch_reserved",
    meaning="GPU memory the allocator has taken from the driver.",
    definition="torch.cuda.memory_reserved of the rank, GiB.",
    read="Much more than host/torch_allocated means fragmentation.",
    check="expandable segments; varying shapes",
    unit="GiB",
    good="context",
    example="61",
    needs=("torch",),
    names=(telescope("torch_reserved_gb"),),
)
reading(
    "host/torch_allocated_peak",
    meaning="Highest GPU memory of live tensors so far.",
    definition="torch.cuda.max_memory_allocated of the rank, GiB; the highest of the ranks.",
    read="Shows how close the longest batch came to the limit.",
    check="length/response/max; micro-batch size",
    unit="GiB",
    good="context",
    example="68.5",
    kind="max",
    needs=("torch",),
    names=(
        telescope("torch_max_allocated_gb"),
        verl("perf/max_memory_allocated_gb", versions="<0.9"),
        verl("actor/perf/max_memory_allocated_gb", versions=">=0.9"),
        trinity("perf/max_memory_allocated_gb"),
    ),
)
reading(
    "host/torch_reserved_peak",
    meaning="Highest GPU memory the allocator has taken so far.",
    definition="torch.cuda.max_memory_reserved of the rank, GiB; the highest of the ranks.",
    read="The largest amount that the driver handed out.",
    check="host/torch_allocated_peak",
    unit="GiB",
    good="context",
    example="74.0",
    kind="max",
    producer="framework",
    needs=FRAMEWORK,
    names=(
        verl("perf/max_memory_reserved_gb", versions="<0.9"),
        verl("actor/perf/max_memory_reserved_gb", versions=">=0.9"),
        trinity("perf/max_memory_reserved_gb"),
    ),
)
reading(
    "host/pool/{pool}/busy",
    meaning="Utilisation of a pool of workers.",
    definition="workers of the pool / its limit, as the framework's pool monitor reads it.",
    read="Telescope counts threads ever started, so its value never falls.",
    check="host/pool/{pool}/queue",
    unit="share",
    good="context",
    example="0.4",
    needs=("the framework's pool monitor",),
    producer="framework",
    range=(0.0, 1.0),
    names=(
        telescope("{pool}/utilization_percent", scale=100.0),
        telescope("{pool}/active_threads", same=False, note="threads ever started, not busy threads"),
        telescope("{pool}/active_processes", same=False, note="processes of the pool"),
        telescope("{pool}/max_workers", same=False, note="the pool's limit"),
    ),
)
reading(
    "host/pool/{pool}/queue",
    meaning="Tasks waiting for a pool.",
    definition="length of the pool's queue at the time of reading.",
    read="A growing queue means that the pool is too small.",
    check="host/pool/{pool}/busy",
    unit="count",
    good="down",
    example="3",
    needs=("the framework's pool monitor",),
    producer="framework",
    names=(telescope("{pool}/queue_depth"),),
)
