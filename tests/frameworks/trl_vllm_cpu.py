"""vLLM's engine on the CPU, as TRL's trainers use it.

TRL and vLLM assume a GPU in a few places; those are replaced here, and nothing else is. Import
this module before vLLM.
"""

from __future__ import annotations

import os
from typing import Any

os.environ |= {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB, the least there is
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # others work on these cores, too
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # TRL reaches the model of a colocated engine in its own process
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}

import torch
from trl.generation import vllm_generation
from vllm import LLM
from vllm.model_executor.layers import utils

engines: dict[str, LLM] = {}  # the engines of this process, by their arguments


def use() -> None:
    """Let TRL begin its engines with `engine`, and keep their weights as TRL sends them."""
    vllm_generation.LLM = engine
    utils.dispatch_cpu_unquantized_gemm = plain


def engine(model: str, **arguments: Any) -> LLM:
    """An engine in float32 that compiles nothing; one for all trainings that ask for the same."""
    key = repr(sorted(arguments.items()))
    if key not in engines:
        engines[key] = LLM(model, **arguments, dtype="float32", enforce_eager=True)
    return engines[key]


def plain(layer: Any, remove_weight: bool) -> None:
    """Multiply with the weight itself. vLLM would pack it, and TRL could not load another."""
    layer.cpu_linear = torch.nn.functional.linear
