"""Samples of lm-evaluation-harness, `samples_TASK_TIME.jsonl`: a row per document.

A file has a line for each filter of the answers. Where there are several, a score is named as the
harness names it: `exact_match,strict-match`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources.intake.evaluation import Evaluations, content_digest, scores_of, text_of
from rollscope.sources.intake.gather import run_id

from . import NO_STEP, Item, Mark, Restart, RunStart, Since, Skipped
from .jsonl import described, first, lines

NAMES = ("lm_eval", "lm-evaluation-harness")
ORDER = -1
SAMPLES = re.compile(r"samples_(.+)_\d{4}-\d\d-\d\dT[\d.-]+")
RESULTS = re.compile(r"results_\d{4}-\d\d-\d\dT[\d.-]+")
KEYS = {"doc_id", "resps"}
OTHER = {"doc_id", "doc_hash", "prompt_hash", "target_hash"}  # keys of a line that are no score


def recognises(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".json":
        return RESULTS.fullmatch(path.stem) is not None
    line = first(path) if path.suffix == ".jsonl" else None
    return line is not None and line.keys() >= KEYS


def rows(path: Path, since: Since) -> Iterator[Item]:
    stat, folder = path.stat(), path.parent
    id = run_id(folder.name, "lm_eval", folder)
    facts = {"name": folder.name, "ended_ns": stat.st_mtime_ns}
    yield RunStart(id=id, kind=f"{NAMES[0]} {path.name}", facts=facts, alone=NO_STEP)
    digest = content_digest(path)
    if path.suffix == ".json":
        yield Skipped("it holds means alone; the tasks are in samples_*.jsonl (lm_eval --log_samples)", path)
    elif since.get(id) != digest:
        if id in since:
            yield Restart("the file was rewritten since the last import; it is read from the start")
        yield from _rows(path, digest, stat.st_mtime_ns)
    yield Mark(digest, stat.st_size, stat.st_size)


def _rows(path: Path, digest: str, time_ns: int) -> Iterator[Item]:
    match = SAMPLES.fullmatch(path.stem)
    name, found = match[1] if match else path.stem, Evaluations(time_ns)
    documents: dict[str, list[Mapping[str, Any]]] = {}
    for offset, line, _ in lines(path, 0):
        if isinstance(line, dict) and line.get("doc_id") is not None:
            documents.setdefault(str(line["doc_id"]), []).append(line)
        else:
            why = "it has no doc_id" if isinstance(line, dict) else described(line)
            yield Skipped(f"a line is no sample ({why}): left out", path, offset)
    several = len({str(line.get("filter")) for alike in documents.values() for line in alike}) > 1
    for document, alike in documents.items():
        answer, scores = text_of(alike[0].get("filtered_resps")), dict(_scores(alike, several))
        row = {"set": name, "task": document, "repeat": 0, "scores": scores, "answer": answer, "failed": not scores}
        found.add(row, _sample(alike[0], f"{digest[:8]}/{document}"))
        yield from found.full()
    yield from found.rest()


def _scores(alike: list[Mapping[str, Any]], several: bool) -> Iterator[tuple[str, float]]:
    for line in alike:
        known = line.get("metrics")
        names = known if isinstance(known, list) else [key for key in line if key not in OTHER]
        for key, value in scores_of({key: line.get(key) for key in names if isinstance(key, str)}).items():
            yield f"{key},{line.get('filter')}" if several else key, value


def _sample(line: Mapping[str, Any], id: str) -> dict[str, Any]:
    responses = line.get("resps")
    return {
        "id": f"lm_eval/{id}",
        "prompt": _prompt(line.get("arguments")),
        "completion": text_of(responses) if _is_text(responses) else None,
        "answer": text_of(line.get("target")),
    }


def _prompt(arguments: Any) -> str | None:
    """The first text that was sent to the model."""
    one = _first(_first(arguments))
    return one if isinstance(one, str) else None


def _first(values: Any) -> Any:
    if isinstance(values, Mapping):
        return next(iter(values.values()), None)
    return values[0] if isinstance(values, list) and values else None


def _is_text(responses: Any) -> bool:
    """Whether the model wrote text: log-likelihoods are pairs of a number and a word."""
    each = responses if isinstance(responses, list) else []
    texts = [part for one in each for part in (one if isinstance(one, list) else [one])]
    return bool(texts) and all(isinstance(part, str) for part in texts)
