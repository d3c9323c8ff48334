"""Fast versions of catalogue functions, on the device where the tensors are.

Importing this room registers them with the catalogue. Nothing heavy is imported before a function
is called with a tensor of a device: it brings torch and Triton then.
Door: `compute` here, `logits`.
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
