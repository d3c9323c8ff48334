"""Read SkyRL's pickled batches without running any code in them, and without torch.

A batch is a dict of tensors and a dict of facts. A tensor is written as its bytes, shape and dtype;
where numpy lacks the dtype, and by skyrl-train, as a file of `torch.save`. Only the two names that
make a batch are known. Every other name in the pickle stands for an object that does nothing.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rollscope.sources import SourceError
from rollscope.sources.files import torch_archive
from rollscope.sources.files.tensors import Refused
from rollscope.sources.files.torch_archive import Nothing

MODULE = "training_batch"  # of both names, in every version
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
Facts = Mapping[str, Any]


class _Batch(Nothing):
    """A batch, of which only the state that was pickled is kept."""

    state: Any = None

    def __setstate__(self, state: Any = None, *_: Any) -> None:
        self.state = state


def _rebuilt(_: Any, state: Any = None, *__: Any) -> _Batch:
    batch = _Batch()
    batch.state = state
    return batch


KNOWN: dict[str, Any] = {"_rebuild_tensor_batch": _rebuilt, "TrainingInputBatch": _Batch}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return KNOWN.get(name, Nothing) if module.rpartition(".")[2] == MODULE else Nothing


def load(path: Path) -> tuple[Facts, Facts]:
    """The tensors of a batch as they are pickled, by name, and the facts beside them."""
    try:
        with path.open("rb") as file:
            batch = _Unpickler(file).load()
    except (MemoryError, OSError):
        raise
    except Exception as error:  # a pickle that is cut off or damaged raises anything
        raise SourceError(f"the pickle is damaged: {error!r}") from error
    state = batch.state if isinstance(batch, _Batch) else None
    tensors = state.get("batch_dict") if isinstance(state, Mapping) else None
    if not isinstance(state, Mapping) or not isinstance(tensors, Mapping):
        raise SourceError(f"expected a batch of SkyRL's trainer, got a pickled {type(batch).__name__.strip('_')}")
    facts = state.get("metadata")
    return tensors, facts if isinstance(facts, Mapping) else {}


def tensor(pickled: Any) -> np.ndarray[Any, Any] | None:
    """A tensor of a batch; None where the batch has none."""
    about = pickled if isinstance(pickled, Mapping) else {"format": "torch", "data": pickled}
    raw, kind = about.get("data"), about.get("dtype")
    if not isinstance(raw, bytes):
        return None
    if about.get("format") == "torch":
        return next(_array(content) for content in torch_archive.load(io.BytesIO(raw)))
    if kind not in DTYPES:
        raise Refused(f"a tensor of {str(kind)[:40]!r}; expected one of {', '.join(DTYPES)}")
    return np.frombuffer(raw, kind).reshape(about.get("shape"))


def _array(content: Any) -> np.ndarray[Any, Any] | None:
    return content.array() if isinstance(content, torch_archive.Tensor) else None
