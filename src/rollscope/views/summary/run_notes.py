"""Notes of a run: what its processes wrote, and what people add from the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.store.run import Run
from rollscope.views import nullable

OUTPUT_LINES = 12  # last lines of a crashed run's output


class NoteShape(TypedDict):
    """Words about a step, or about the run. `edited` is true if others replaced the first ones."""

    id: str
    step: int | None
    time_ns: float
    text: str
    kind: str
    author: str
    edited: bool


def run_notes(run: Run) -> list[NoteShape]:
    """All notes by time. Each writer has a file of its own; callers see one list."""
    columns = run.notes()
    rows = zip(*(columns[name] for name in ("step", "time_ns", "text", "kind", "data")), strict=True)
    seen: Counter[int] = Counter()
    return [_note(row, seen) for row in sorted(rows, key=lambda row: int(row[1] or 0))]


def _note(row: tuple[Any, ...], seen: Counter[int]) -> NoteShape:
    step, time_ns, text, kind, data = row
    at = int(time_ns or 0)
    seen[at] += 1  # notes of one moment are told apart by their order
    return {
        "id": f"{at}" if seen[at] == 1 else f"{at}.{seen[at]}",
        "step": nullable.integer(step),
        "time_ns": float(at),
        "text": str(text or ""),
        "kind": str(kind or "note"),
        "author": str(data.get("author") or "") if isinstance(data, Mapping) else "",
        "edited": False,
    }


def edited(notes: Iterable[NoteShape], edits: Mapping[str, Any]) -> list[NoteShape]:
    """The notes with the words that people put in their place, without those they left out.

    `edits` has them by id; False leaves a note out. What was recorded stays in the run's files.
    """
    said = [(note, edits.get(note["id"])) for note in notes]
    kept = [(note, text) for note, text in said if text is not False]
    return [note if text is None else {**note, "text": str(text), "edited": True} for note, text in kept]


def output_lines(run: Run) -> list[str]:
    """The last lines the run printed, from notes of kind `output`, which `rollscope run` writes."""
    return printed_lines(run)[-OUTPUT_LINES:]


def printed_lines(run: Run) -> list[str]:
    """Every line the run printed, in order."""
    outputs = [note["text"] for note in run_notes(run) if note["kind"] == "output"]
    return [line for text in outputs for line in text.splitlines()]
