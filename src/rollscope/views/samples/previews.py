"""Prompts in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollscope.store.run import Run

CHARACTERS = 240


def previews(run: Run, ids: list[str]) -> dict[str, str]:
    """Sample id -> the first words of its prompt."""
    columns = run.samples(ids=ids, columns=["id", "prompt", "messages"])
    rows = zip(columns["id"].tolist(), columns["prompt"], columns["messages"], strict=True)
    return {id: preview(prompt, messages) for id, prompt, messages in rows}


def preview(prompt: str | None, messages: Any = None) -> str:
    """The first words of a prompt; without one, of the user's last message."""
    if not prompt and isinstance(messages, Sequence):
        contents = [m.get("content") for m in messages if isinstance(m, Mapping) and m.get("role") == "user"]
        prompt = str(contents[-1]) if contents else ""
    return " ".join((prompt or "")[: 4 * CHARACTERS].split())[:CHARACTERS]
