"""Tasks of an evaluation set whose prompts were trained on: the same text, or nearly the same.

Texts are compared without case and white space. Two are near if most runs of three words are the
same and so are all numbers: prompts from one template with other numbers are other tasks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from rollscope.store.numbers.step_marks import StepMarks
from rollscope.store.run import Run

from .sets import EvalSet

MOST_ROWS = 50_000  # samples of training whose prompts are read, spread over the run
NEAR = 0.8  # of the runs of words that both have together
COMMON = 100  # a run of words in more prompts than this is of a template, and finds nothing
WORD = re.compile(r"\w+")
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Trained:
    """The first sample of training that was read with a prompt."""

    sample: str
    step: int


@dataclass(frozen=True, slots=True)
class Overlap:
    """Tasks that training has seen, and how many prompts of training were read."""

    exact: tuple[str, ...]
    near: tuple[str, ...]
    prompts: int
    samples: Mapping[str, Trained]  # task that was seen -> a sample of training with its prompt


def overlap(run: Run, evals: EvalSet) -> Overlap:
    """The tasks of a set whose prompt is among those of training. A task without a text is not."""
    trained, held = trained_prompts(run), eval_prompts(run, evals)
    found = {task: one for task, text in held.items() if (one := trained.find(text)) is not None}
    exact, near = (tuple(task for task, one in found.items() if one.kind == kind) for kind in ("exact", "near"))
    first = trained_samples(run)
    return Overlap(exact, near, len(trained.texts), {task: first[one.text] for task, one in found.items()})


def eval_prompts(run: Run, evals: EvalSet) -> dict[str, str]:
    """Task -> its prompt, where a sample was recorded."""
    sample_of = {evals.tasks[task]: sample for task, sample in evals.samples().items()}
    if not sample_of:
        return {}
    rows = run.samples(ids=list(sample_of.values()), columns=["id", "prompt"])
    texts = {str(id): prompt for id, prompt in zip(rows["id"], rows["prompt"], strict=True) if prompt}
    return {task: str(texts[id]) for task, id in sample_of.items() if id in texts}


@dataclass(frozen=True, slots=True)
class Match:
    """A prompt that a text was found by."""

    kind: str  # exact or near
    text: str  # of the prompt, in plain form


class Prompts:
    """Prompts that can be asked whether a text is among them."""

    def __init__(self, prompts: Iterable[str]) -> None:
        self.texts = list(dict.fromkeys(map(plain, prompts)))
        self._known = set(self.texts)
        self._shingles = [_shingles(text) for text in self.texts]
        self._where: dict[int, list[int]] = {}
        for number, shingles in enumerate(self._shingles):
            for shingle in shingles:
                self._where.setdefault(shingle, []).append(number)

    def find(self, text: str) -> Match | None:
        """The prompt that is the same, or else nearly the same; None if there is none."""
        words = plain(text)
        if words in self._known:
            return Match("exact", words)
        mine = _shingles(words)
        shared = Counter(at for shingle in mine for at in self._rare(shingle))
        near = (at for at, _ in shared.most_common(20) if self._is_near(words, mine, at))
        return next((Match("near", self.texts[at]) for at in near), None)

    def _rare(self, shingle: int) -> list[int]:
        found = self._where.get(shingle, [])
        return found if len(found) <= COMMON else []

    def _is_near(self, words: str, mine: frozenset[int], at: int) -> bool:
        theirs = self._shingles[at]
        alike = len(mine & theirs) / max(1, len(mine | theirs))
        return alike >= NEAR and sorted(NUMBER.findall(words)) == sorted(NUMBER.findall(self.texts[at]))


def trained_prompts(run: Run) -> Prompts:
    """The prompts of training, of as many steps as can be read at once."""
    return run.remember("trained prompts", lambda: Prompts(trained_samples(run)))


def trained_samples(run: Run) -> dict[str, Trained]:
    """Prompt of training, in plain form -> the first sample with it."""
    return run.remember("trained samples", lambda: _trained(run, run.count_by_step("samples")))


def _trained(run: Run, counts: StepMarks) -> dict[str, Trained]:
    stride = max(1, -(-int(counts.marks.sum()) // MOST_ROWS))
    rows = run.samples_of_steps(("id", "step", "split", "prompt"), counts.steps[::stride].tolist())
    held = np.asarray(pc.fill_null(pc.equal(rows["split"], "eval"), False), bool)
    columns = (rows[name].to_pylist() for name in ("id", "step", "prompt"))
    found: dict[str, Trained] = {}
    for id, step, prompt, is_held in zip(*columns, held, strict=True):
        if prompt and not is_held:
            found.setdefault(plain(str(prompt)), Trained(str(id), int(step)))
    return found


def plain(text: str) -> str:
    """The text without case, and with single spaces: texts that are equal so are the same."""
    return " ".join(text.casefold().split())


def _shingles(text: str) -> frozenset[int]:
    words = WORD.findall(text)
    return frozenset(hash(tuple(words[i : i + 3])) for i in range(max(1, len(words) - 2)))
