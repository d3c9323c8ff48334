"""What is kept to compare identical answers: little, however long texts are and a run becomes."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.diagnose.reading import repeated_answers
from rollscope.diagnose.reading.repeated_answers import RepeatedAnswers
from rollscope.store.run import Run


def record(folder: Path, steps: range, text: str) -> Run:
    with rs.init(id="r", dir=folder, host=False, resume="allow") as run:
        for step in steps:
            samples = [{"id": f"{step}.{i}", "task": f"t{i}", "completion": text, "reward": 1.0} for i in range(2)]
            run.log_samples(samples, step=step)
    return rs.open(folder).run("r")


def test_texts_are_compared_and_not_kept(tmp_path: Path) -> None:
    reader = record(tmp_path, range(20), "word " * 4000)
    kept = RepeatedAnswers(reader)
    assert kept.drift().repeated == 2
    assert len(pickle.dumps(kept._answers)) < 10_000, "forty texts of 20,000 characters were read"


def test_steps_that_are_no_longer_chosen_are_forgotten(tmp_path: Path) -> None:
    reader, sizes = record(tmp_path, range(40), "yes"), []
    kept = RepeatedAnswers(reader)
    for first, end in pairwise((40, 150, 300, 450)):
        record(tmp_path, range(first, end), "yes")
        reader.refresh()
        assert kept.drift().repeated == 2
        sizes.append(len(kept._answers))
    assert sizes[0] and max(sizes) <= repeated_answers.MOST_KEPT
    assert kept.drift(until=30).repeated == 2, "what is asked for again is read again"


def test_steps_that_could_not_be_read_are_read_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = record(tmp_path, range(20), "yes")
    kept = RepeatedAnswers(reader)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="too many open files"):
        patch.setattr(repeated_answers, "_answers", _fail)
        kept.drift()
    assert kept.drift().repeated == 2


def _fail(rows: object) -> None:
    raise OSError("too many open files")


def test_the_hash_tells_prompts_from_answers() -> None:
    pairs = [("a", "b"), ("ab", ""), ("", "ab"), ("1", "0a"), ("10", "a"), ("a", "\ud800"), ("a\ud800", "")]
    assert len({repeated_answers._hashed(*pair) for pair in pairs}) == len(pairs)
