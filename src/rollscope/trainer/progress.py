"""What a training loop reports after each step, for a progress bar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Progress:
    step: int
    steps: int
    reward: float  # mean of the step's samples; for preferences the accuracy on its pairs
    trained: int  # samples
    discarded: int  # samples
    seconds: float
    evaluation: float | None = None  # score, if the step ended with an evaluation
    short: str = ""  # why the training ends with this step, if its time was over before the last one


OnStep = Callable[[Progress], object]


def ignore(_: Progress) -> None:
    """The listener that does nothing."""
