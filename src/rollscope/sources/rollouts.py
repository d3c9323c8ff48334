"""Datasets of rollouts: Parquet, Arrow (Hugging Face `save_to_disk`) or JSONL with a prompt and a completion, or messages, in each row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources.intake.gather import run_id, whole
from rollscope.sources.intake.tables import COMPLETION, PROMPT, sample, text

from . import Item, Mark, Records, Restart, Run, Since, Skipped
from .jsonl import first, lines

NAMES = ("rollouts", "hugging face dataset")
ORDER = 5  # after the frameworks, before plain JSONL
BATCH = 1000


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".jsonl":
        found = first(path)
        return isinstance(found, dict) and _fits(
            found, {name for name, value in found.items() if isinstance(value, str | list)}
        )
    return path.suffix in (".parquet", ".arrow") and _fits(None, _columns(path))


def _fits(_: Any, names: set[str]) -> bool:
    low = {name.lower() for name in names}
    return "messages" in low or bool(low & set(PROMPT) and low & set(COMPLETION))


def _columns(path: Path) -> set[str]:
    import pyarrow as pa

    try:
        return set(_schema(path).names)
    except (pa.ArrowException, ValueError, OSError):
        return set()


def _schema(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        return pq.read_schema(path)
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_stream(source).schema


def rows(path: Path, since: Since) -> Iterator[Item]:
    """Files of one folder are one run: a dataset is often split into several."""
    folder = path.parent
    id = run_id(folder.name, "rollouts", folder)
    stat = path.stat()
    cursor = [stat.st_size, stat.st_mtime_ns]
    yield Run(
        id=id, kind=NAMES[0], facts={"name": folder.name, "project": folder.parent.name, "ended_ns": stat.st_mtime_ns}
    )
    if since.get(id) == cursor:
        yield Mark(cursor, stat.st_size, stat.st_size)
        return
    if id in since:
        yield Restart("the file was written again since it was last imported: it is read anew")
    kept: list[dict[str, Any]] = []
    groups: dict[str, int] = {}
    for i, row in enumerate(_rows(path)):
        if isinstance(row, Skipped):
            yield row
            continue
        found = _sample(row, f"{path.stem}/{i}", stat.st_mtime_ns, groups)
        if found is None:
            yield Skipped(f"row {i} has neither a prompt nor a completion", path)
            continue
        kept.append(found)
        if len(kept) >= BATCH:
            yield Records("samples", kept)
            kept = []
    if kept:
        yield Records("samples", kept)
    yield Mark(cursor, stat.st_size, stat.st_size)


def _rows(path: Path) -> Iterator[dict[str, Any] | Skipped]:
    if path.suffix == ".jsonl":
        for offset, value, _ in lines(path, 0):
            yield value if isinstance(value, dict) else Skipped(f"not a JSON object ({value})", path, offset)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix == ".parquet":
            yield from _parquet(pq.ParquetFile(path), path)
        else:
            with pa.memory_map(str(path)) as source:
                for batch in pa.ipc.open_stream(source):
                    yield from batch.to_pylist()
    except (pa.ArrowException, ValueError, OSError) as error:
        yield Skipped(f"the file is damaged, and nothing after this is taken: {error}", path)


def _parquet(file: Any, path: Path) -> Iterator[dict[str, Any] | Skipped]:
    """One row group after the other: a damaged one costs itself."""
    import pyarrow as pa

    for group in range(file.num_row_groups):
        try:
            for batch in file.iter_batches(BATCH, row_groups=[group]):
                yield from batch.to_pylist()
        except (pa.ArrowException, ValueError, OSError) as error:
            at = min(
                file.metadata.row_group(group).column(i).file_offset or 0 for i in range(file.metadata.num_columns)
            )
            yield Skipped(f"row group {group} is damaged: {error}", path, at or None)


def _sample(row: Mapping[str, Any], id: str, time_ns: int, groups: dict[str, int]) -> dict[str, Any] | None:
    messages = row.get("messages")
    if isinstance(messages, list) and messages and not any(row.get(name) for name in COMPLETION):
        row = {**row, "prompt": text(messages[:-1]) or "", "completion": text(messages[-1:])}
    found = sample({name: value for name, value in row.items() if name != "messages"}, id, 0, time_ns)
    if found is None:
        return None
    prompt = found["prompt"] or ""
    task = hashlib.blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    step = whole(row.get("step")) or 0
    repeat = groups[f"{step}/{task}"] = groups.get(f"{step}/{task}", -1) + 1
    return {
        **found,
        "step": step,
        "task": task,
        "group": found.get("group") or f"{step}/{task}",
        "repeat": repeat,
        "messages": messages if isinstance(messages, list) else None,
    }
