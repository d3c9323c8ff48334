"""The scope of a value: its environment, split and clock, as one word.

The usual scope, a training value of the whole run counted in optimiser steps, is the empty word.
"""

from __future__ import annotations


def word(env: str | None, split: str | None, clock: str | None) -> str:
    parts = (env or "", "" if split in (None, "train") else split, clock or "")
    return "\x1f".join(parts) if any(parts) else ""


def parts(word: str) -> tuple[str, str, str]:
    """Environment, split and clock of a scope; "" for no environment and for optimiser steps."""
    env, split, clock = (*word.split("\x1f"), "", "")[:3]
    return env, split or "train", clock
