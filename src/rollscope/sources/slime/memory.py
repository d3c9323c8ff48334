"""Samples in the memory of slime or miles, with the values that a dump of them has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from rollscope.sources.dumps.place import Spot
from rollscope.sources.live.quiet import print_once

from .sample import LEFT, rollout

ARRAYS = {"token_ids": "<i8", "action_mask": "<i8", "rollout_logp": "<f4"}  # handed over faster than lists
GIVEN = ("time_ns", "step")  # by the recorder
OF_TURN = ("sample", "turn", "step")  # the same


def sets(data: Any) -> dict[str, Any]:
    """The samples of each set of an evaluation."""
    if not isinstance(data, Mapping):
        raise TypeError(f"an evaluation should map its sets to their samples, not be a {type(data).__name__}")
    found = {str(name): about.get("samples") for name, about in data.items() if isinstance(about, Mapping)}
    for name in [str(name) for name in data if found.get(str(name)) is None]:
        print_once(f"rollscope: the evaluation {name!r} came without its samples; only its numbers are recorded")
    return {name: samples for name, samples in found.items() if samples is not None}


def flat(samples: Any) -> Iterator[Any]:
    """The samples in a list, or in lists of lists, in their order."""
    if not isinstance(samples, list | tuple):
        raise TypeError(f"the samples of a rollout should be a list, not a {type(samples).__name__}")
    for one in samples:
        if isinstance(one, list | tuple):
            yield from flat(one)
        else:
            yield one


def framework(samples: Sequence[Any]) -> str:
    """Whose samples they are: both frameworks have a class of the same name."""
    package = type(samples[0]).__module__.partition(".")[0] if samples else ""
    return "miles" if package == "miles" else "slime"


def taken(sample: Any) -> dict[str, Any]:
    """The fields that are read, as they are now: lists are replaced later, not changed."""
    fields = sample if isinstance(sample, Mapping) else getattr(sample, "__dict__", {})
    return {
        name: dict(value) if isinstance(value, dict) else value for name, value in fields.items() if name not in LEFT
    }


def sample(fields: Mapping[str, Any], spot: Spot, set: str, has_dump: bool) -> dict[str, Any]:
    """The sample with its turns, for `run.log_samples`.

    If there is a dump, its turns are left to it: those of two writers would be there twice.
    """
    if not fields:
        raise TypeError("it has no fields")
    tables = rollout({name: _plain(value) for name, value in fields.items()}, spot)
    (found,) = tables["samples"]
    turns = [{name: value for name, value in one.items() if name not in OF_TURN} for one in tables["turns"]]
    return {
        **{name: value for name, value in found.items() if name not in GIVEN},
        **{name: np.asarray(found[name], kind) for name, kind in ARRAYS.items() if name in found},
        **({"turns": turns} if turns and not has_dump else {}),
        **({"tags": [set]} if set else {}),
    }


def _plain(value: Any) -> Any:
    """Tensors, arrays and numbers of numpy as what they hold; an enumeration as its value."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, Enum):
        return value.value
    return value.tolist() if hasattr(value, "tolist") else value
