"""Weights for a vLLM server on the CPU.

vLLM broadcasts them with NCCL, which needs a GPU. Here the same calls send them through the store
of vLLM's own process group. A worker of the server imports this module by its extension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from vllm.distributed.utils import StatelessProcessGroup
from vllm.distributed.weight_transfer import nccl_engine


class Extension:
    """What `--worker-extension-cls` names. It adds nothing to the worker."""


def join(about: dict[str, Any], rank: int) -> SimpleNamespace:
    """The group of trainer and workers; its members hold it as NCCL's communicator does."""
    group = StatelessProcessGroup.create(about["master_address"], about["master_port"], rank, about["world_size"])
    return SimpleNamespace(group=group)


def join_as_worker(about: Any, parallel: Any) -> SimpleNamespace:
    return join(vars(about), about.rank_offset + parallel.rank)


def join_as_trainer(about: dict[str, Any]) -> SimpleNamespace:
    return join(about, 0)


def send(iterator: Iterator[tuple[str, Any]], group: Any, src: int, post_iter_func: Callable[..., Any]) -> None:
    for item in iterator:
        group.group.broadcast(post_iter_func(item).detach().clone(), src)


def receive(
    iterator: Iterator[tuple[str, Any]], group: Any, src: int, post_unpack_func: Callable[..., Any], **_: Any
) -> None:
    for name, _about in iterator:
        post_unpack_func([(name, group.group.broadcast(None, src))])


nccl_engine.worker_init_process_group = join_as_worker
nccl_engine.packed_nccl_broadcast_consumer = receive
