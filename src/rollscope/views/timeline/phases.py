"""What kind of work a span is, by its name in any framework's words."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from rollscope.catalog.names.operations import canonical

Phase = Literal["generate", "tool", "grader", "sync", "train", "eval", "checkpoint", "other"]
WORDS: tuple[tuple[Phase, tuple[str, ...]], ...] = (  # the first that fits decides
    ("sync", ("sync", "weight", "broadcast", "update_engine", "load_param")),
    ("eval", ("eval", "valid", "testing")),
    ("checkpoint", ("checkpoint", "save")),
    ("grader", ("reward", "score", "grad" + "er", "judge", "verif")),
    ("tool", ("env", "tool", "sandbox")),
    ("generate", ("generat", "decode", "prefill", "gen", "rollout", "sample", "request", "explore", "inference")),
    (
        "train",
        ("forward", "backward", "optim", "loss", "logp", "log_prob", "update", "advantage", "train", "tensor", "ref"),
    ),
)


@lru_cache(10_000)
def phase(name: str) -> Phase:
    """The kind of work behind a span's name."""
    word = canonical(name).lower()
    return next((kind for kind, words in WORDS if any(part in word for part in words)), "other")
