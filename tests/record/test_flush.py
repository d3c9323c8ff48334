"""`flush()` tells the truth: True only if everything recorded before it is on the disk."""

import errno
import os

import pytest

import rollscope as rs
from rollscope.record.write import drain


class Unreadable:
    def __float__(self):
        raise ValueError("no number")

    __str__ = __repr__ = __float__


class Rows:
    """Rows of which the second cannot be had."""

    def __iter__(self):
        yield {"id": "first", "reward": 1.0}
        raise RuntimeError("the loader died")


LOSSES = {
    "a value that is no number": lambda run: run.log({"a": 1.0, "b": "many"}, step=1),
    "a value that raises": lambda run: run.log({"a": Unreadable()}, step=1),
    "a number in place of a dictionary": lambda run: run.log(3, step=1),
    "a label without text": lambda run: run.log({"a": 1.0}, step=1, env=Unreadable()),
    "a label of a megabyte": lambda run: run.log({"a": 1.0}, step=1, split="x" * 1_000_000),
    "samples that end early": lambda run: run.log_samples(Rows(), step=1),
    "a field of a sample": lambda run: run.log_samples([{"id": "s", "reward": Unreadable()}], step=1),
    "a batch": lambda run: run.log_batch({"reward": Unreadable()}, step=1),
    "an evaluation": lambda run: run.log_eval("e", step=1, results=[{"task": "t", "score": Unreadable()}]),
    "a span": lambda run: run.log_span("s", Unreadable(), 2),
    "a clock": lambda run: run.commit(1, tokens=Unreadable()),
    "a declaration": lambda run: run.declare(reward_min=Unreadable()),
    "a fact": lambda run: run.describe(steps_planned=Unreadable()),
}


@pytest.mark.parametrize("lose", LOSSES.values(), ids=LOSSES)
def test_a_loss_is_told_by_the_next_flush_and_by_no_later_one(init, recorded, lose):
    run = init()
    run.log({"good": 0.0}, step=0)
    assert run.flush(60)
    lose(run)
    run.log({"good": 1.0}, step=1)
    assert run.flush(60) is False, run.losses
    run.log({"good": 2.0}, step=2)
    assert run.flush(60)
    run.finish()
    got = recorded(run)
    assert [got.values["good", step] for step in range(3)] == [[0.0], [1.0], [2.0]]
    assert got.rows["notes"][0]["kind"] == "loss"


def test_what_is_lost_after_the_end_is_told_too(init):
    run = init()
    run.finish()
    assert run.flush()
    run.log({"late": 1.0}, step=1)
    assert run.flush() is False
    assert run.flush(), "what was recorded in time is there"


class Refusing:
    """A sink whose service is down."""

    def __init__(self):
        self.tried = 0

    def write(self, rows):
        self.tried += 1
        raise ConnectionError("the service is down")

    def close(self):
        return


def test_a_sink_that_fails_takes_nothing_from_the_store(tmp_path, monkeypatch):
    monkeypatch.setattr("rollscope.record.write.fanout.TRIES", 1)
    sink = Refusing()
    run = rs.init(name="x", dir=tmp_path, host=False, sinks=[sink])
    run.log({"a": 1.0}, step=0)
    run.commit(0)
    run.log({"a": 2.0}, step=1)
    assert run.flush(60)
    run.finish()
    assert sink.tried and any("rows for" in loss for loss in run.losses)
    assert run.flush()


def test_a_text_budget_that_was_asked_for_is_no_loss_of_the_store(init):
    run = init(keep_text=0)
    run.log_samples([{"id": str(i), "prompt": "p" * 1000} for i in range(20)], step=0)
    assert run.flush(60)


def test_flush_waits_for_the_disk(init, monkeypatch):
    run = init()
    run.log({"a": 1.0}, step=0)
    assert run.flush(60)
    synced, really = [], os.fdatasync

    def noted(descriptor):
        really(descriptor)
        synced.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fdatasync", noted)
    run.log({"a": 2.0}, step=1)
    assert run.flush(60)
    size = sum(path.stat().st_size for path in run.folder.glob("*.log"))
    assert synced[-1] == size, "all bytes were there when the disk was asked"
    run.finish()


def test_a_disk_that_took_bytes_and_lost_them_is_told_by_the_flush(init, monkeypatch):
    run = init()
    run.log({"a": 1.0}, step=0)
    assert run.flush(60)
    really = os.fdatasync

    def refuse(descriptor):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", refuse)
    run.log({"a": 2.0}, step=1)
    assert run.flush(5) is False
    monkeypatch.setattr(os, "fdatasync", really)
    run.log({"a": 3.0}, step=2)
    assert run.flush(60)
    run.finish()


def test_the_last_row_of_a_run_says_how_it_ended(init, recorded, monkeypatch):
    """A sign of life that is due while the run ends would say that it still runs."""
    monkeypatch.setattr(drain, "BEAT_SECONDS", 0.0)
    run = init()
    run.log({"a": 1.0}, step=0)
    assert run.flush(60)
    run.finish()
    states = [row["state"] for row in recorded(run).rows["runs"] if "state" in row]
    assert states[-1] == "finished" and states.count("running") > 1
    assert rs.open(run.folder.parent).run(run.id).state == "finished"
