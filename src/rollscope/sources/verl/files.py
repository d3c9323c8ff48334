"""What veRL leaves on disk: `{step}.jsonl` dumps of rollouts and validations, and console logs with `step:N - key:value - ...` lines."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Mark, Records, Restart, Run, Since, Skipped
from rollscope.sources.intake.gather import Gather, number, run_id, whole
from rollscope.sources.intake.guess import framework
from rollscope.sources.intake.tables import text
from rollscope.sources.jsonl import first, lines

OWN = ("input", "output", "gts", "score", "step", "uid", "reward", "request_id")
LINE = re.compile(rb"step:(\d+) - (\S[^\n]*)")
WRAPPED = re.compile(r"^(?:np|numpy)\.\w+\((.*)\)$|^tensor\(([^,]*).*\)$")


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".jsonl" and path.stem.isdigit():
        found = first(path)
        return isinstance(found, dict) and {"input", "output"} <= found.keys()
    return path.suffix in (".log", ".txt", ".out", "") and _console(path)


def _console(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            match = LINE.search(file.read(1 << 20))
    except OSError:
        return False
    return match is not None and b":" in match[2]


def rows(path: Path, since: Since) -> Iterator[Item]:
    yield from _dump(path, since) if path.suffix == ".jsonl" else _lines(path, since)


def _dump(path: Path, since: Since) -> Iterator[Item]:
    """All dumps of a folder are one run."""
    folder = path.parent
    id = run_id(folder.name, "verl", folder)
    yield Run(
        id=id,
        kind="rollouts",
        facts={
            "name": folder.name,
            "project": folder.parent.name,
            "framework": "verl",
            "ended_ns": path.stat().st_mtime_ns,
        },
    )
    stat = path.stat()
    cursor = [stat.st_size, stat.st_mtime_ns]
    if since.get(id) == cursor:
        yield Mark(cursor, stat.st_size, stat.st_size)
        return
    if id in since:
        yield Restart("the dump was written again since it was last imported: it is read anew")
    split = "eval" if "val" in folder.name.lower() else "train"
    groups: dict[str, int] = {}
    kept: list[dict[str, Any]] = []
    for number_, (offset, value, _) in enumerate(lines(path, 0)):
        if not isinstance(value, dict):
            yield Skipped(f"line {number_ + 1} is not a JSON object ({value})", path, offset)
            continue
        kept.append(_sample(value, int(path.stem), number_, split, stat.st_mtime_ns, groups))
        if len(kept) >= 2000:
            yield Records("samples", kept)
            kept = []
    if kept:
        yield Records("samples", kept)
    yield Mark(cursor, stat.st_size, stat.st_size)


def _sample(
    row: Mapping[str, Any], step: int, line: int, split: str, time_ns: int, groups: dict[str, int]
) -> dict[str, Any]:
    """A dump without uids is grouped by its prompts: veRL balances the batch over ranks before it writes, so neighbours are no group."""
    prompt, uid = text(row.get("input")) or "", row.get("uid")
    key = str(uid).rsplit("_", 2)[0] if uid is not None else prompt
    repeat = groups[key] = groups.get(key, -1) + 1
    extras = {name: value for name, value in row.items() if name not in OWN}
    rewards = {name: value for name, value in extras.items() if number(value) is not None}
    group = key if uid is not None else hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return {
        "id": f"{split}/{step}/{uid or line}",
        "step": whole(row.get("step")) or step,
        "time_ns": time_ns,
        "split": split,
        "group": f"{split}/{step}/{group}",
        "task": hashlib.blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
        "repeat": repeat,
        "score": number(row.get("score")),
        "reward": number(row.get("reward")),
        "rewards": rewards or None,
        "prompt": prompt,
        "completion": text(row.get("output")),
        "answer": text(row.get("gts")),
        "extra": {name: value for name, value in extras.items() if name not in rewards} or None,
    }


def _lines(path: Path, since: Since) -> Iterator[Item]:
    id = run_id(path.stem, "verl console", path)
    size, at = path.stat().st_size, (since.get(id) or {"at": 0})["at"]
    time_ns, gather, names = path.stat().st_mtime_ns, Gather(path), set[str]()
    restart = at > size
    at = 0 if restart else at
    with path.open("rb") as file:
        file.seek(at)
        for raw in file:
            if not raw.endswith(b"\n"):
                break  # a line that is still being written
            at += len(raw)
            if match := LINE.search(raw):
                values = dict(_pairs(match[2].decode("utf-8", "replace")))
                names |= values.keys()
                gather.add(int(match[1]), time_ns, values)
    yield Run(
        id=id,
        kind="console",
        facts={
            "name": path.stem,
            "project": path.parent.name,
            "framework": framework(names) or "verl",
            "ended_ns": time_ns,
        },
    )
    if restart:
        yield Restart("the log is shorter than when it was last imported: it is read anew")
    yield from gather.points()
    yield from gather.skipped()
    yield Mark({"at": at}, at, size)


def _pairs(said: str) -> Iterator[tuple[str, Any]]:
    """`key:value` between ` - `; numpy's scalars print their type around the number."""
    for part in said.split(" - "):
        name, colon, value = part.strip().rpartition(":")
        if not colon:
            continue
        if match := WRAPPED.match(value):
            value = match[1] or match[2]
        try:
            yield name, float(value)
        except ValueError:
            yield name, number(value) if number(value) is not None else value
