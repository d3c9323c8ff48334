"""Sinks get one merged row per closed step, and none of them can harm training or another sink."""

import json
import threading
import time

import pytest

from rollscope.catalog.partials.partial import Max, Mean
from rollscope.record.loss import Losses
from rollscope.record.write.fanout import SinkThread
from rollscope.sinks import Row

GENEROUS = 60.0


class Kept:
    """A sink that keeps its rows."""

    def __init__(self):
        self.rows, self.closed = [], 0

    def write(self, rows):
        self.rows += rows

    def close(self):
        self.closed += 1

    def metrics(self):
        return {row.step: {k: float(v) for k, v in row.data.items()} for row in self.rows if row.table == "metrics"}


class Raising(Kept):
    def write(self, rows):
        raise ConnectionError("no network")


class Exiting(Kept):
    def write(self, rows):
        raise SystemExit(3)

    def close(self):
        raise RuntimeError("cannot close either")


class Hanging(Kept):
    def write(self, rows):
        threading.Event().wait()


class Flaky(Kept):
    failures = 2

    def write(self, rows):
        if self.failures:
            self.failures -= 1
            raise TimeoutError
        super().write(rows)


def test_within_a_writer_partials_add_and_numbers_replace(init):
    sink = Kept()
    run = init(sinks=[sink])
    run.log({"mean": Mean(2.0, 1.0), "max": Max(1.0, 3.0, 2.0), "plain": 1.0}, step=4)
    run.log({"mean": Mean(4.0, 2.0), "max": Max(0.0, 2.0, 2.0), "plain": 5.0}, step=4)
    run.finish()
    assert sink.metrics() == {4: {"mean": 2.0, "max": 3.0, "plain": 5.0}} and sink.closed == 1


def test_a_step_closes_at_commit_at_the_step_after_the_next_and_at_the_end(init):
    sink = Kept()
    run = init(sinks=[sink])
    run.log({"a": 1.0}, step=0)
    run.log({"a": 2.0}, step=1)
    run.commit(1)
    run.flush(60)
    _until(lambda: 1 in sink.metrics())
    assert 0 not in sink.metrics(), "a step may still get values while the next one runs"
    run.log({"a": 3.0}, step=2)
    run.flush(60)
    _until(lambda: 0 in sink.metrics())
    run.finish()
    assert sink.metrics() == {0: {"a": 1.0}, 1: {"a": 2.0}, 2: {"a": 3.0}}


def test_a_value_that_comes_after_its_step_was_closed_still_arrives(init):
    sink = Kept()
    run = init(sinks=[sink])
    run.log({"a": 1.0}, step=0)
    run.commit(0)
    run.log({"late": 2.0}, step=0)
    run.finish()
    assert [row.data for row in sink.rows if row.table == "metrics"] == [{"a": 1.0}, {"late": 2.0}]


def test_a_step_waits_for_its_batch_to_be_computed(init, monkeypatch):
    import rollscope.record.compute.batch as batches

    real, sink, go = batches.compute_all, Kept(), threading.Event()
    monkeypatch.setattr(batches, "compute_all", lambda *args: go.wait() and real(*args))
    run = init(sinks=[sink])
    for step in range(5):
        run.log_batch({"reward": [1.0, 0.0]}, step=step)
        run.log({"a": 1.0}, step=step)
        run.commit(step)
    run.flush(0.2)
    assert sink.metrics() == {}, "nothing is closed before it is complete"
    go.set()
    run.finish()
    assert list(sink.metrics()) == list(range(5))
    assert all({"a", "reward/mean"} <= row.keys() for row in sink.metrics().values())


def test_a_step_waits_for_metrics_that_come_while_the_queue_is_read(init, monkeypatch):
    import rollscope.record.compute.batch as batches
    from rollscope.record.write.intake import Intake

    compute, take, sink, go = batches.compute_all, Intake.take, Kept(), threading.Event()
    monkeypatch.setattr(batches, "compute_all", lambda *args: go.wait() and compute(*args))
    run = init(sinks=[sink])
    for step in range(5):
        run.log_batch({"reward": [1.0, 0.0]}, step=step)
        run.log({"a": 1.0}, step=step)

    def take_and_compute(intake):
        take(intake)
        go.set()
        assert run._recorder.jobs.worker.settle(GENEROUS)

    monkeypatch.setattr(Intake, "take", take_and_compute)
    run.finish()
    assert [set(row.data) for row in sink.rows if row.table == "metrics" and "a" not in row.data] == []


@pytest.mark.parametrize("bad", [Raising, Exiting, Hanging])
def test_a_bad_sink_harms_neither_training_nor_another_sink(init, recorded, monkeypatch, capfd, bad):
    good = Kept()
    run = init(sinks=[bad(), good])
    for step in range(200):  # a call that waited for the sink would wait for ever
        run.log({"a": float(step)}, step=step)
        run.commit(step)
    assert run.flush(GENEROUS)
    _until(lambda: len(good.metrics()) == 200)
    monkeypatch.setattr("rollscope.record.recorder.PATIENCE_SECONDS", 1.0)
    run.finish()
    _until(lambda: good.closed == 1)
    assert len(recorded(run).values) == 200
    assert any(bad.__name__ in loss for loss in run.losses) and bad.__name__ in capfd.readouterr().err


def test_a_sink_that_fails_for_a_while_loses_nothing():
    losses, sink = Losses(), Flaky()
    thread = SinkThread("flaky", lambda: sink, losses, pause=0.01)
    thread.put([Row("metrics", 1, 0, {"a": 1.0})])
    thread.close(GENEROUS)
    assert [row.data for row in sink.rows] == [{"a": 1.0}] and not losses.total


def test_a_slow_sink_loses_its_oldest_rows_and_they_are_counted(monkeypatch):
    monkeypatch.setattr("rollscope.record.write.fanout.ROWS", 10)
    losses, go = Losses(), threading.Event()

    class Slow(Kept):
        def write(self, rows):
            go.wait()
            super().write(rows)

    sink = Slow()
    thread = SinkThread("slow", lambda: sink, losses)
    for step in range(100):
        thread.put([Row("metrics", step, 0, {})])
    go.set()
    thread.close(GENEROUS)
    assert len(sink.rows) + sum(losses.total.values()) == 100 and sink.rows[-1].step == 99


def test_a_sink_that_cannot_be_opened_is_reported_and_left_out(init, recorded, capfd):
    run = init(sinks=["jsonl", "no-such-sink"])
    run.log({"a": 1.0}, step=0)
    run.finish()
    assert "no-such-sink" in capfd.readouterr().err and recorded(run).values["a", 0] == [1.0]
    lines = [json.loads(line) for path in run.folder.rglob("*.jsonl") for line in path.read_text().splitlines()]
    assert any(line.get("a") == 1.0 or line.get("data", {}).get("a") == 1.0 for line in lines)


def test_sinks_also_get_samples_and_notes(init):
    sink = Kept()
    run = init(sinks=sink)
    run.log_samples([{"id": "a", "reward": 1.0}], step=0)
    run.note("lowered lr", step=0)
    run.finish()
    assert {row.table for row in sink.rows} >= {"samples", "notes"}


def _until(claim):
    end = time.monotonic() + GENEROUS
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.005)
