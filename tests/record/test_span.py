"""Spans: who did what, from when to when, and inside which other span."""

import threading
import time

import pytest


def spans(recorded, run):
    run.finish()
    return {row["name"]: row for row in recorded(run).rows["spans"]}


def test_spans_nest_and_inherit_lane_and_step(init, recorded):
    run = init()
    with run.span("step", lane="trainer/0", step=7):
        with run.span("forward", microbatch=2, minibatch=1, group="g", sample="s", note="x"):
            time.sleep(0.002)
    got = spans(recorded, run)
    inner, outer = got["forward"], got["step"]
    assert inner["parent"] == outer["id"] and inner["lane"] == "trainer/0" and inner["step"] == 7
    expected = {"microbatch": 2, "minibatch": 1, "group": "g", "sample": "s", "data": {"note": "x"}}
    assert {key: inner[key] for key in expected} == expected
    assert outer["start_ns"] <= inner["start_ns"] < inner["end_ns"] <= outer["end_ns"]
    assert inner["end_ns"] - inner["start_ns"] >= 2_000_000


def test_times_are_the_wall_clock(init, recorded):
    run = init()
    before = time.time_ns()
    with run.span("now"):
        pass
    got = spans(recorded, run)["now"]
    assert before - 10**7 < got["start_ns"] <= got["end_ns"] < time.time_ns() + 10**7


def test_threads_do_not_nest_into_each_other(init, recorded):
    run = init()

    def other():
        with run.span("other", lane="worker/1"):
            pass

    with run.span("main"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "parent" not in spans(recorded, run)["other"]


def test_a_span_without_a_step_has_the_step_of_the_run(init, recorded):
    run = init()
    run.log({"a": 1.0}, step=12)
    with run.span("wait", kind="wait"):
        pass
    got = spans(recorded, run)["wait"]
    assert got["step"] == 12 and got["kind"] == "wait" and got["lane"] == "trainer/0"


def test_a_span_records_an_exception_and_lets_it_through(init, recorded):
    run = init()
    with pytest.raises(KeyError):
        with run.span("tool"):
            raise KeyError("x")
    assert spans(recorded, run)["tool"]["data"] == {"error": "KeyError"}


def test_device_spans_fall_back_to_the_hosts_clock(init, recorded):
    run = init()
    with run.span("kernel", device=True):
        time.sleep(0.001)
    got = spans(recorded, run)["kernel"]
    assert got["end_ns"] - got["start_ns"] >= 1_000_000


def test_a_span_measured_elsewhere_is_recorded_as_given(init, recorded):
    run = init()
    run.log_span("generate", 1_000, 2_000, lane="inference/3", step=4, microbatch=1, batch=32)
    got = spans(recorded, run)["generate"]
    expected = {"start_ns": 1_000, "end_ns": 2_000, "lane": "inference/3", "step": 4, "microbatch": 1}
    assert {key: got[key] for key in expected} == expected and got["data"] == {"batch": 32}


def test_a_span_says_why_it_ran_when_it_did(init, recorded):
    run = init()
    with run.span("sync_weights", version=3) as sync:
        pass
    first = run.log_span("reward", 5, 6, sample="a", causes=sync.key)
    run.log_span("generate", 7, 9, lane="inference/0", version=3, queued_ns=6, causes=[sync.key, first])
    got = spans(recorded, run)
    assert got["sync_weights"]["version"] == 3 and got["reward"]["causes"] == [sync.key]
    expected = {"version": 3, "queued_ns": 6, "causes": [sync.key, first]}
    assert {key: got["generate"][key] for key in expected} == expected and "data" not in got["generate"]
    assert first.split(":")[0] == sync.key.split(":")[0], "the same writer wrote both"


def test_a_version_that_is_no_number_stays_with_the_other_facts(init, recorded):
    run = init()
    run.log_span("generate", 1, 2, version="v1.2", queued_ns=True, causes=7)
    assert spans(recorded, run)["generate"]["data"] == {"version": "v1.2", "queued_ns": True, "causes": 7}


def test_a_span_that_lasts_is_named_while_it_is_open(init):
    import rollscope as rs

    run = init()
    with run.span("generate", lane="inference/3", sample="s1", step=4), run.span("decode"):
        reader, until = rs.open(run.folder.parent).run(run.id), time.monotonic() + 60
        while not (named := reader.open_spans()) and time.monotonic() < until:
            time.sleep(0.05)
            reader.refresh()
        assert [(span["name"], span["lane"], span["step"]) for span in named] == [
            ("generate", "inference/3", 4),
            ("decode", "inference/3", 4),
        ]
        assert all(span["alive"] for span in named) and named[0]["sample"] == "s1"
        assert 0 < time.time_ns() - named[0]["start_ns"] < 60e9
    run.finish()
    assert reader.open_spans() == []


def test_what_is_announced_is_shown_until_it_is_over_and_recorded_by_another(init, recorded):
    import rollscope as rs

    run = init()
    begun = run.span("generate", "inference/0", step=4).announce()
    reader, until = rs.open(run.folder.parent).run(run.id), time.monotonic() + 60
    while not (named := reader.open_spans()) and time.monotonic() < until:
        time.sleep(0.05)
        reader.refresh()
    assert [(span["name"], span["lane"], span["step"]) for span in named] == [("generate", "inference/0", 4)]
    begun.over()
    run.log_span("generate", 1, 2, "inference/0", step=4)
    while reader.open_spans() and time.monotonic() < until:
        time.sleep(0.05)
        reader.refresh()
    assert reader.open_spans() == []
    assert list(spans(recorded, run)) == ["generate"] and spans(recorded, run)["generate"]["start_ns"] == 1


def test_a_writer_that_has_recorded_nothing_yet_shows_its_open_span(init):
    import rollscope as rs
    from rollscope.record.start import join

    run = init()
    other = join(run.id, run.folder.parent)
    other.span("hold", "ray:Engine/1").announce(start_ns=12)
    reader, until = rs.open(run.folder.parent).run(run.id), time.monotonic() + 60
    while not (named := reader.open_spans()) and time.monotonic() < until:
        time.sleep(0.05)
        reader.refresh()
    assert [(span["name"], span["start_ns"]) for span in named] == [("hold", 12)]
    other.finish()


def test_spans_that_end_at_once_write_no_file(init):
    run = init()
    for _ in range(100):
        with run.span("short"):
            pass
    run.flush(60)
    assert not list(run.folder.glob("*.open.json"))
    run.finish()
