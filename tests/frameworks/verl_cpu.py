"""The CPU as a platform of veRL, by the registries that veRL has for other hardware."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from verl.plugin.platform.platform_cuda import PlatformCUDA
from verl.plugin.platform.platform_manager import set_platform


class Device:
    """`torch.cpu`, with what veRL asks of a device beside it."""

    mem_get_info = staticmethod(lambda *_: (0, 0))
    max_memory_allocated = max_memory_reserved = staticmethod(lambda *_: 0)
    memory_allocated = memory_reserved = empty_cache = max_memory_allocated
    get_device_name = staticmethod(lambda *_: "CPU")

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)


class PlatformCPU(PlatformCUDA):  # type: ignore[misc]
    device_name = "cpu"
    vendor_name = "none"
    device_module = Device()

    def is_available(self) -> bool:
        return True

    def is_ipc_supported(self) -> bool:
        return False  # veRL then sends weights through shared memory

    def current_device(self) -> Any:
        return torch.device("cpu")

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None: ...

    def synchronize(self, device_index: int | None = None) -> None: ...

    def manual_seed(self, seed: int) -> None: ...

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings: str) -> None: ...

    def empty_cache(self) -> None: ...

    def communication_backend_name(self) -> str:
        return "gloo"

    @contextlib.contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield


def use() -> None:
    """Let veRL train on the CPU. Called before anything of it asks for the platform."""
    set_platform(PlatformCPU())
    from verl.utils import distributed

    begin = distributed.initialize_global_process_group_ray
    distributed.initialize_global_process_group_ray = partial(begin, backend="cpu:gloo")  # veRL names the CPU twice
    from verl.workers.engine import EngineRegistry
    from verl.workers.engine.fsdp import transformer_impl

    engine = transformer_impl.FSDPEngineWithLMHead
    EngineRegistry.register(model_type="language_model", backend="fsdp2", device="cpu")(engine)
    offload = transformer_impl.CPUOffloadPolicy  # of the reference, which is on the CPU anyway
    transformer_impl.CPUOffloadPolicy = lambda pin_memory: offload(pin_memory=False)
