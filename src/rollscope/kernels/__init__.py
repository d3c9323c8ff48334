"""The same numbers fast, on the device where the tensors are. Importing this tells the catalogue which of its functions have a kernel.

Nothing heavy is imported until a tensor of a device is met: the functions registered here bring torch and Triton with them when they are called.
"""

from __future__ import annotations

from typing import Any

from rollscope.catalog.compute import vocabulary
from rollscope.catalog.compute.compute import compute

__all__ = ["compute"]


def _entropy(logits: Any, temperature: float) -> Any:
    from .logits import logprob_entropy

    return logprob_entropy(logits, None, temperature)[1]


vocabulary.FASTER["entropy_of_logits"] = _entropy
