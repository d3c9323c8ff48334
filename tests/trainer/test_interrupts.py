"""Ctrl-C ends training, wherever it arrives; a second one ends it at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import rollscope as rs
from rollscope.trainer import config
from rollscope.trainer.train import train

from .conftest import CASES, table

KINDS = {"grpo": CASES["grpo"], "dpo": CASES["dpo"], "embodied": CASES["embodied"]}
PATIENCE = 120  # seconds


def press() -> None:
    """Ctrl-C in the middle of code that loses exceptions, as a callback of a library does."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0)  # Python handles signals between instructions
    except KeyboardInterrupt:
        pass


@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_that_a_callback_loses_still_ends_training(tmp_path: Path, kind: str) -> None:
    steps: list[int] = []

    def on_step(now: Any) -> None:
        steps.append(now.step)
        press()

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(config.build(KINDS[kind]), dir=tmp_path, on_step=on_step)
    assert steps == [1] and signal.getsignal(signal.SIGINT) is before
    (record,) = rs.open(tmp_path).runs()
    assert record["state"] == "crashed" and "KeyboardInterrupt" in record["reason"]


def test_an_interrupt_during_the_warm_up_ends_training(tmp_path: Path) -> None:
    steps: list[int] = []

    def on_warmup(step: int, *_: Any) -> None:
        steps.append(step)
        press()

    with pytest.raises(KeyboardInterrupt):
        train(config.build(table()), dir=tmp_path, on_warmup=on_warmup)
    assert steps == [1]


HANGING = """
import sys, time
from rollscope.trainer import config
from rollscope.trainer.train import train

def hang(now):
    print("hanging", flush=True)
    while True:
        time.sleep(1)

train(config.build({table!r}), dir=sys.argv[1], on_step=hang)
"""


def test_a_second_interrupt_ends_at_once_what_does_not_look_at_the_first(tmp_path: Path) -> None:
    program = [sys.executable, "-c", HANGING.format(table=CASES["embodied"]), str(tmp_path)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "hanging\n"
        process.send_signal(signal.SIGINT)
        while "Ctrl-C again ends at once" not in (line := process.stderr.readline()):
            assert line, "the process ended at the first Ctrl-C"
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == -signal.SIGINT
    finally:
        process.kill()
        process.communicate()
