"""Prompts that are in training and in an evaluation: by their task ids, or by their text.

Which text counts as the same is said in `views/evals/overlap.py`, as for the marks on Evals. Here
only the same text counts: a prompt that is nearly the same is no proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from rollscope.store.run import Run
from rollscope.views.evals.overlap import plain, trained_samples

MOST_STEPS = 200  # of training, whose tasks are read


@dataclass(frozen=True, slots=True)
class Shared:
    """How many evaluated prompts training has seen."""

    evaluated: int = 0
    both: int = 0
    what: str = "tasks"
    step: int = 0  # the first evaluation with such a prompt
    example: str = ""
    samples: tuple[str, ...] = ()


def shared_prompts(run: Run, until: int | None = None) -> Shared:
    """Compare the tasks of evaluations with those of training; and the prompts of both."""
    counted = run.count_by_step("samples").until(until).steps
    steps = counted[:: max(1, len(counted) // MOST_STEPS)]
    rows = run.samples_of_steps(("id", "step", "split", "task", "prompt"), steps.tolist())
    held = np.asarray(pc.fill_null(pc.equal(rows["split"], "eval"), False), bool)
    tasks, prompts = rows["task"].to_pylist(), rows["prompt"].to_pylist()
    trained_tasks = {task for task, is_held in zip(tasks, held, strict=True) if task and not is_held}
    rows_of_evals = run.evals()
    pairs = zip(rows_of_evals["task"], rows_of_evals["step"], strict=True)
    evaluated = [(str(t), int(s), str(t)) for t, s in pairs if t and s == s and (until is None or s <= until)]
    by_task = _shared(evaluated, trained_tasks, "tasks")
    texts = zip(prompts, rows["step"].to_pylist(), rows["id"].to_pylist(), held, strict=True)
    if by_task.both:
        return by_task
    asked = [(p, step, id) for p, step, id, is_held in texts if is_held and p]
    return _shared(asked, _seen({p for p, _, _ in asked}, run, until), "prompts")


def _seen(prompts: set[str], run: Run, until: int | None) -> set[str]:
    """Those of the prompts that training had seen by a step."""
    first = {prompt: trained_samples(run).get(plain(prompt)) for prompt in prompts}
    return {prompt for prompt, one in first.items() if one is not None and (until is None or one.step <= until)}


def _shared(held: list[tuple[str, int, str]], trained: set[str], what: str) -> Shared:
    both = {text for text, _, _ in held if text in trained}
    first = min((row for row in held if row[0] in both), key=lambda row: row[1], default=None)
    return Shared(
        evaluated=len({text for text, _, _ in held}),
        both=len(both),
        what=what,
        step=first[1] if first else 0,
        example=first[0] if first else "",
        samples=tuple(id for text, _, id in held if text in both)[:5] if what == "prompts" else (),
    )
