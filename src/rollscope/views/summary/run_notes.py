"""Notes of a run: what its processes wrote, and what people add from the page."""

from __future__ import annotations

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.store.run import Run
from rollscope.views import nullable

OUTPUT_LINES = 12  # last lines of a crashed run's output


class NoteShape(TypedDict):
    """Words about a step, or about the run."""

    step: int | None
    time_ns: float
    text: str
    kind: str


def run_notes(run: Run) -> list[NoteShape]:
    """All notes by time. Each writer has a file of its own; callers see one list."""
    columns = run.notes()
    rows = zip(*(columns[name] for name in ("step", "time_ns", "text", "kind")), strict=True)
    notes: list[NoteShape] = [
        {
            "step": nullable.integer(step),
            "time_ns": float(time_ns or 0),
            "text": str(text or ""),
            "kind": str(kind or "note"),
        }
        for step, time_ns, text, kind in rows
    ]
    return sorted(notes, key=lambda note: note["time_ns"])


def output_lines(run: Run) -> list[str]:
    """The last lines the run printed, from notes of kind `output`, which `rollscope run` writes."""
    return printed_lines(run)[-OUTPUT_LINES:]


def printed_lines(run: Run) -> list[str]:
    """Every line the run printed, in order."""
    outputs = [note["text"] for note in run_notes(run) if note["kind"] == "output"]
    return [line for text in outputs for line in text.splitlines()]
