"""The best step to resume from: the last checkpoint before something went wrong."""

from __future__ import annotations

from rollscope.store.run import Run

KIND = "checkpoint"  # notes of integrations
SPANS = ("save_checkpoint", "checkpoint")


def resume_from(run: Run, onset: int) -> str:
    """A sentence: which step to go back to when a finding began at `onset`."""
    step = resume_step(run, onset)
    if step is not None:
        return f"Resume from step {step:,}: its checkpoint is the last one before that."
    return f"Resume from a checkpoint before step {onset:,}; this run recorded none."


def resume_step(run: Run, onset: int) -> int | None:
    """The step of the last checkpoint before a step; None if none is recorded."""
    return max((step for step in checkpoints(run) if step < onset), default=None)


def checkpoints(run: Run) -> list[int]:
    """Steps at which a checkpoint was saved, in order."""
    return run.remember("checkpoints", lambda: sorted(_noted(run) | _timed(run)))


def _noted(run: Run) -> set[int]:
    notes = run.notes()
    rows = zip(notes["kind"], notes["step"], strict=True)
    return {int(step) for kind, step in rows if kind == KIND and step is not None and step == step}


def _timed(run: Run) -> set[int]:
    import pyarrow as pa
    import pyarrow.compute as pc

    spans = run.table("spans", ["name", "step"], as_arrow=True)
    steps = spans.filter(pc.is_in(spans["name"], pa.array(SPANS)))["step"]
    return {int(step) for step in pc.unique(steps).to_pylist() if step is not None}
