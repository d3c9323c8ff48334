"""Datasets of rollouts: Parquet, Arrow (Hugging Face `save_to_disk`) or JSONL.

Each row has a prompt and a completion, or messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources.files import columnar
from rollscope.sources.intake.gather import digest, run_id, whole
from rollscope.sources.intake.tables import COMPLETION, PROMPT, sample, text

from . import Item, Mark, Records, Restart, RunStart, Since, Skipped
from .jsonl import described, first, lines

NAMES = ("rollouts", "hugging face dataset")
ORDER = 5  # after the frameworks, before plain JSONL
BATCH = 1000  # samples that are passed on together
CHARACTERS = 4 << 20  # of their text: a small file may hold long texts


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".jsonl":
        row = first(path)
        return row is not None and _are_rollouts({k for k, v in row.items() if isinstance(v, str | list)})
    return path.suffix in (".parquet", ".arrow") and _are_rollouts(columnar.columns(path))


def _are_rollouts(names: set[str]) -> bool:
    low = {name.lower() for name in names}
    return "messages" in low or bool(low & set(PROMPT) and low & set(COMPLETION))


def rows(path: Path, since: Since) -> Iterator[Item]:
    """All files of a folder are one run: a dataset is often split into several files."""
    folder = path.parent
    id = run_id(folder.name, "rollouts", folder)
    stat = path.stat()
    cursor = [stat.st_size, stat.st_mtime_ns]
    facts = {"name": folder.name, "project": folder.parent.name, "ended_ns": stat.st_mtime_ns}
    yield RunStart(id=id, kind=NAMES[0], facts=facts)
    if since.get(id) == cursor:
        yield Mark(cursor, stat.st_size, stat.st_size)
        return
    if id in since:
        yield Restart("the file was rewritten since the last import; it is read from the start")
    yield from _samples(path, stat.st_mtime_ns)
    yield Mark(cursor, stat.st_size, stat.st_size)


def _samples(path: Path, time_ns: int) -> Iterator[Item]:
    samples: list[dict[str, Any]] = []
    groups: dict[str, int] = {}
    characters = 0
    for i, row in enumerate(_rows(path)):
        if isinstance(row, Skipped):
            yield row
        elif (sample := _sample(row, f"{path.stem}/{i}", time_ns, groups)) is None:
            yield Skipped(f"row {i} has neither a prompt nor a completion", path)
        else:
            samples.append(sample)
            characters += len(sample["prompt"] or "") + len(sample["completion"] or "")
        if len(samples) >= BATCH or characters >= CHARACTERS:
            yield Records("samples", samples)
            samples, characters = [], 0
    if samples:
        yield Records("samples", samples)


def _rows(path: Path) -> columnar.Rows:
    if path.suffix != ".jsonl":
        yield from columnar.rows(path)
        return
    for offset, value, _ in lines(path, 0):
        yield value if isinstance(value, dict) else Skipped(f"not a JSON object ({described(value)})", path, offset)


def _sample(row: Mapping[str, Any], id: str, time_ns: int, groups: dict[str, int]) -> dict[str, Any] | None:
    """One row as a sample; `groups` counts the samples of each prompt and step."""
    messages = row.get("messages")
    if isinstance(messages, list) and messages and not any(row.get(name) for name in COMPLETION):
        row = {**row, "prompt": text(messages[:-1]) or "", "completion": text(messages[-1:])}
    read = sample({name: value for name, value in row.items() if name != "messages"}, id, 0, time_ns)
    if read is None:
        return None
    task = digest(read["prompt"] or "")
    step = whole(row.get("step")) or 0
    group = f"{step}/{task}"
    repeat = groups[group] = groups.get(group, -1) + 1
    return {
        **read,
        "step": step,
        "task": task,
        "group": read.get("group") or group,
        "repeat": repeat,
        "messages": messages if isinstance(messages, list) else None,
    }
