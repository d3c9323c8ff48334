"""The shape of text: repetition inside an answer, and one answer for every prompt."""

from __future__ import annotations

import zlib
from collections import Counter

import numpy as np

from rollscope.store import arrow

from .chunk import Chunk
from .registry import Numbers, aggregate

WORDS = 32  # an answer with fewer words repeats by chance
GRAM = 4
REPEATED = 0.5  # share of repeated 4-grams above which an answer is degenerate
DENSE = 10.0  # times that compression makes it smaller
TOKENS = 8  # of an answer: fewer may all be marks of its end
TASKS = 4  # of a step: fewer may share an answer by chance
HEAD = 200  # characters of an answer that are compared between prompts


@aggregate("degenerate_share", "completion", text=True, needs=f"a completion of {WORDS} words or more")
def degenerate_share(samples: Chunk) -> Numbers:
    """The share of answers that repeat themselves, of those long enough to tell."""
    long = [(i, text) for i, text in enumerate(samples.texts("completion")) if len(text.split()) >= WORDS]
    flags = np.full(len(samples), np.nan)
    for i, text in long:
        flags[i] = is_degenerate(text)
    return samples.mean(flags)


def is_degenerate(text: str) -> bool:
    """Are more than half of its 4-grams repeated, or does it shrink to a tenth when compressed?"""
    words = text.split()
    grams = [tuple(words[i : i + GRAM]) for i in range(len(words) - GRAM + 1)]
    repeated = 1 - len(set(grams)) / len(grams)
    raw = text.encode("utf-8", "replace")
    return repeated > REPEATED or len(raw) / len(zlib.compress(raw, 1)) > DENSE


@aggregate("one_answer_share", "completion", "task", text=True, needs=f"completion, task, {TASKS} tasks a step")
def one_answer_share(samples: Chunk) -> Numbers:
    """The largest share of tasks that get the very same answer; NaN for too few tasks."""
    task, _ = samples.words("task")
    heads = [text.strip()[:HEAD] for text in samples.texts("completion")]
    return samples.by_step(lambda at: _same(task[at], heads[at]))


def _same(task: np.ndarray, heads: list[str]) -> float:
    tasks = len(set(task.tolist()))
    if tasks < TASKS:
        return np.nan
    pairs = {(int(t), head) for t, head in zip(task, heads, strict=True) if len(head) >= 8}
    counts = Counter(head for _, head in pairs)
    return counts.most_common(1)[0][1] / tasks if counts else 0.0


@aggregate("wordless_share", "completion", "completion_tokens", text=True, needs=f"completion, {TOKENS} tokens or more")
def wordless_share(samples: Chunk) -> Numbers:
    """The share of answers without any text, of those that have tokens enough for one."""
    counts = (samples.number("completion_tokens") >= TOKENS) & ~arrow.missing(samples.rows["completion"])
    empty = np.array([not text.strip() for text in samples.texts("completion")], bool)
    return samples.mean(np.where(counts, empty, np.nan))


@aggregate("answers_read", "completion", "reward", text=True)
def answers_read(samples: Chunk) -> Numbers:
    """How many answers with a reward are read."""
    return samples.counts.astype(np.float64)
