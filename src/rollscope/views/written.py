"""Samples as text to take away: a line of JSON each, or Markdown for a person. What a model wrote stays text: fences are longer than any in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rollscope.store.plain import plain

HIDDEN = ("run", "writer", "attempt")


def jsonl(row: Mapping[str, Any]) -> str:
    """One line: what is known about a sample, nothing that is not."""
    said = {name: value if isinstance(value, str) else plain(value) for name, value in row.items() if name not in HIDDEN and _known(value)}
    return json.dumps(said, ensure_ascii=False) + "\n"


def _known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and value != value)


def fenced(text: str, kind: str = "") -> str:
    """The text in a fence that nothing inside can close."""
    longest = max((len(ticks) for ticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{kind}\n{text}\n{fence}\n"


def markdown(rows: Iterable[Mapping[str, Any]], turns: Callable[[str], Mapping[str, Any]] | None = None) -> str:
    return "\n".join(_sample(row, turns(row["id"]) if turns and row.get("turns") is not None else None) for row in rows)


def _sample(row: Mapping[str, Any], turns: Mapping[str, Any] | None) -> str:
    facts = [f"{label} {_inline(row[name])}" for name, label in FACTS if _known(row.get(name))]
    parts = [f"## {code(str(row['id']))}\n", ", ".join(facts) + "\n"]
    components = {**(row.get("rewards") or {}), **(row.get("sample_metrics") or {})}
    if components:
        parts.append("| part | value |\n|---|---|\n" + "".join(f"| {_cell(k)} | {_cell(v)} |\n" for k, v in components.items()))
    said = _turns(turns) if turns is not None and len(turns.get("turn", ())) else []
    blocks = [("prompt", row.get("prompt")), *(said or [("completion", row.get("completion"))]), ("reference answer", row.get("answer"))]
    parts += [f"**{label}**\n\n{fenced(str(text))}" for label, text in blocks if text]
    return "\n".join(parts)


FACTS = (("step", "step"), ("group", "group"), ("env", "environment"), ("reward", "reward"), ("advantage", "advantage"), ("completion_tokens", "tokens"), ("stop_reason", "stopped by"), ("trained", "trained"), ("discard_reason", "dropped for"))  # fmt: skip


def _turns(turns: Mapping[str, Any]) -> list[tuple[str, Any]]:
    out = []
    for i in range(len(turns["turn"])):
        tool = turns["tool"][i]
        text = "\n".join(str(turns[name][i]) for name in ("content", "arguments", "result") if turns[name][i])
        out.append((f"{_inline(turns['role'][i] or 'turn')}{f', {_inline(tool)}' if tool else ''}{', failed' if turns['ok'][i] is False else ''}", text))
    return out


def _cell(value: Any) -> str:
    return _inline(value).replace("|", "\\|")


def _inline(value: Any) -> str:
    """A value in a line: plain words and numbers as they are, all else as code, where a reader's Markdown sees no markup."""
    said = str(plain(value))
    return said if re.fullmatch(r"[\w .,:/+-]*", said) else code(said)


def code(text: str) -> str:
    """On one line, between more backticks than it has."""
    line = " ".join(text.split())
    ticks = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"
