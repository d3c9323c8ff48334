"""veRL's files: `{step}.jsonl` dumps of rollouts, and console logs (`step:N - key:value - ...`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources import Item, Mark, Records, Restart, RunStart, Since, Skipped
from rollscope.sources.files.lines import lines as raw_lines
from rollscope.sources.intake.gather import Gather, digest, number, run_id, whole
from rollscope.sources.intake.guess import framework
from rollscope.sources.intake.tables import text
from rollscope.sources.jsonl import described, first, lines

BATCH = 2000
OWN = ("input", "output", "gts", "score", "step", "uid", "reward", "request_id")  # columns of veRL itself
LINE = re.compile(rb"step:(\d{1,18}) - (\S[^\n]*)")
WORD = 200  # characters of a value that may be a number
WRAPPED = re.compile(r"^(?:np|numpy)\.\w+\((.*)\)$|^tensor\(([^,]*).*\)$")


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".jsonl" and path.stem.isdecimal():
        row = first(path)
        return row is not None and {"input", "output"} <= row.keys()
    return path.suffix in (".log", ".txt", ".out", "") and _is_console_log(path)


def _is_console_log(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            match = LINE.search(file.read(1 << 20))
    except OSError:
        return False
    return match is not None and b":" in match[2]


def rows(path: Path, since: Since) -> Iterator[Item]:
    yield from _dump(path, since) if path.suffix == ".jsonl" else _console_log(path, since)


def _dump(path: Path, since: Since) -> Iterator[Item]:
    """All dumps of a folder are one run."""
    folder = path.parent
    id = run_id(folder.name, "verl", folder)
    stat = path.stat()
    about = {"name": folder.name, "project": folder.parent.name}
    yield RunStart(id=id, kind="rollouts", facts={**about, "framework": "verl", "ended_ns": stat.st_mtime_ns})
    cursor = [stat.st_size, stat.st_mtime_ns]
    if since.get(id) == cursor:
        yield Mark(cursor, stat.st_size, stat.st_size)
        return
    if id in since:
        yield Restart("the file was rewritten since the last import; it is read from the start")
    split = "eval" if "val" in folder.name.lower() else "train"
    groups: dict[str, int] = {}
    samples: list[dict[str, Any]] = []
    for line, (offset, value, _) in enumerate(lines(path, 0)):
        if not isinstance(value, dict):
            yield Skipped(f"line {line + 1} is not a JSON object ({described(value)})", path, offset)
            continue
        samples.append(_sample(value, int(path.stem), line, split, stat.st_mtime_ns, groups))
        if len(samples) >= BATCH:
            yield Records("samples", samples)
            samples = []
    if samples:
        yield Records("samples", samples)
    yield Mark(cursor, stat.st_size, stat.st_size)


def _sample(
    row: Mapping[str, Any], step: int, line: int, split: str, time_ns: int, groups: dict[str, int]
) -> dict[str, Any]:
    """One row as a sample. Rows without a uid are grouped by prompt.

    Neighbouring rows are not a group: veRL balances the batch over ranks before it writes.
    """
    prompt, uid = text(row.get("input")) or "", row.get("uid")
    key = str(uid).rsplit("_", 2)[0] if uid is not None else prompt
    repeat = groups[key] = groups.get(key, -1) + 1
    extras = {name: value for name, value in row.items() if name not in OWN}
    rewards = {name: value for name, value in extras.items() if number(value) is not None}
    group = key if uid is not None else digest(key)
    return {
        "id": f"{split}/{step}/{uid or line}",
        "step": whole(row.get("step")) or step,
        "time_ns": time_ns,
        "split": split,
        "group": f"{split}/{step}/{group}",
        "task": digest(prompt),
        "repeat": repeat,
        "score": number(row.get("score")),
        "reward": number(row.get("reward")),
        "rewards": rewards or None,
        "prompt": prompt,
        "completion": text(row.get("output")),
        "answer": text(row.get("gts")),
        "extra": {name: value for name, value in extras.items() if name not in rewards} or None,
    }


def _console_log(path: Path, since: Since) -> Iterator[Item]:
    id = run_id(path.stem, "verl console", path)
    size, at = path.stat().st_size, (since.get(id) or {"at": 0})["at"]
    time_ns, gather, names = path.stat().st_mtime_ns, Gather(path), set[str]()
    restart = at > size
    at = 0 if restart else at
    for _, raw, end in raw_lines(path, at):
        if raw is not None and not raw.endswith(b"\n"):
            break  # a line that is still being written
        at = end
        if raw is not None and (match := LINE.search(raw)):
            values = dict(_pairs(match[2].decode("utf-8", "replace")))
            names |= values.keys()
            gather.add(int(match[1]), time_ns, values)
    about = {"name": path.stem, "project": path.parent.name, "framework": framework(names) or "verl"}
    yield RunStart(id=id, kind="console", facts={**about, "ended_ns": time_ns})
    if restart:
        yield Restart("the log is shorter than at the last import; it is read from the start")
    yield from gather.points()
    yield from gather.skipped()
    yield Mark({"at": at}, at, size)


def _pairs(line: str) -> Iterator[tuple[str, Any]]:
    """The `key:value` pairs between ` - `.

    A numpy scalar is printed with its type around the number.
    """
    for part in line.split(" - "):
        name, colon, value = part.strip().rpartition(":")
        if not colon:
            continue
        if len(value) < WORD and (match := WRAPPED.match(value)):
            value = match[1] or match[2]
        try:
            yield name, float(value)
        except ValueError:
            yield name, number(value) if number(value) is not None else value
