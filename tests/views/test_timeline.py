"""Who waits for whom: laws on generated timelines, and the names of waits on small ones."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollscope as rs
from rollscope.errors import NotFound
from rollscope.views.answers.answer import answer
from rollscope.views.answers.levers import Change, lever, saves, scaled
from rollscope.views.answers.plan import plan
from rollscope.views.answers.signs import silent, starved, stragglers, sync_share
from rollscope.views.answers.simulate import played
from rollscope.views.answers.stretch import slower, stretch
from rollscope.views.timeline.flight import in_flight
from rollscope.views.timeline.graph import Batches
from rollscope.views.timeline.path import walk
from rollscope.views.timeline.picture import lanes_of, picture
from rollscope.views.timeline.rows import Rows
from rollscope.views.timeline.shares import shares
from rollscope.views.timeline.span import find, span_of, sums
from rollscope.views.timeline.strips import strips
from rollscope.views.timeline.waits import trainer_waits
from rollscope.views.timeline.window import Window, window

S = 10**9
PHASES = ("generate", "tool", "grader", "train", "sync")


def rows(spans: list[dict[str, Any]]) -> Rows:
    """Spans as the store gives them, numbered in this order."""
    numbered = sorted(({"id": i + 1, **span} for i, span in enumerate(spans)), key=lambda span: span["start"])

    def codes(key: str) -> tuple[np.ndarray, list[str]]:
        words = dict.fromkeys(span[key] for span in numbered if span.get(key) is not None)
        number = {word: i for i, word in enumerate(words)}
        return np.array([number.get(span.get(key), -1) for span in numbered], np.int64), list(words)

    def ints(key: str) -> np.ndarray:
        return np.array([span.get(key, -1) for span in numbered], np.int64)

    (lane, lanes), (name, names), (sample, samples) = codes("lane"), codes("name"), codes("sample")
    causes = [json.dumps([f"w:{c}" for c in s["causes"]]) if s.get("causes") else None for s in numbered]
    return Rows(
        *(ints("start"), ints("end"), lane, name, ints("step")),
        np.array([span.get("kind") == "wait" for span in numbered], bool),
        *(sample, ints("version"), ints("queued"), np.zeros(len(numbered), np.int64), ints("id")),
        *(np.array(causes, object), lanes, names, samples, ["w"]),
    )


def span(name: str, lane: str, start: float, end: float, step: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "lane": lane, "start": round(start * S), "end": round(end * S), "step": step, **more}


def loop(seed: int, workers: int = 2, steps: int = 4) -> list[dict[str, Any]]:
    """A trainer that waits for the answers of its workers, with all that may be recorded."""
    draw = random.Random(seed)
    spans: list[dict[str, Any]] = []
    free, at, sync = dict.fromkeys(range(workers), 0), 0, 0

    def add(**more: Any) -> int:
        spans.append(more)
        return len(spans)

    for step in range(steps):
        begun, ends = at, []
        for request in range(workers + draw.randint(0, 2)):
            worker = request % workers
            start = max(free[worker], begun) + draw.randint(0, 50)
            end = start + draw.randint(0, 3000)
            lane = f"inference/{worker}"
            made = add(
                name="generate",
                lane=lane,
                start=start,
                end=end,
                step=step,
                queued=begun,
                version=step,
                causes=[sync] if sync else [],
            )
            scored = end + draw.randint(0, 200)
            ends.append((scored, add(name="reward", lane=lane, start=end, end=scored, step=step, causes=[made])))
            free[worker] = scored
        ready = max(when for when, _ in ends) + draw.randint(0, 20)
        add(name="wait_data", lane="trainer/0", kind="wait", start=begun, end=ready, step=step)
        trained = ready + draw.randint(1, 4000)
        update = add(
            name="update", lane="trainer/0", start=ready, end=trained, step=step, causes=[key for _, key in ends]
        )
        inner = draw.randint(ready, trained)
        add(name="optimizer", lane="trainer/0", start=inner, end=trained, step=step)
        at = trained + draw.randint(0, 300)
        sync = add(
            name="sync_weights", lane="trainer/0", start=trained, end=at, step=step, version=step + 1, causes=[update]
        )
    return spans


def anything() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Spans that no framework would write: overlapping, empty, out of order, on any lane."""
    times = st.tuples(st.integers(0, 5000), st.integers(0, 3000))
    one = st.builds(
        lambda when, name, lane, step, kind, sample, queued, causes: {
            "name": name, "lane": lane, "start": when[0], "end": when[0] + when[1], "step": step, "kind": kind,
            "sample": sample, "queued": queued, "causes": causes,
        },
        times,
        st.sampled_from(["generate", "reward", "update", "sync_weights", "odd"]),
        st.sampled_from(["trainer/0", "trainer/1", "inference/0", "inference/0/1", "inference/1/0", "env/3"]),
        st.integers(0, 3),
        st.sampled_from(["work", "wait"]),
        st.sampled_from([None, "a", "b"]),
        st.integers(-1, 6000),
        st.lists(st.integers(1, 12), max_size=3),
    )  # fmt: skip
    first = {"name": "update", "lane": "trainer/0", "start": 10, "end": 4000, "step": 1}
    return st.lists(one, max_size=12).map(lambda spans: [first, *spans])


def check_sums(one: Window) -> None:
    path = walk(one.graph, one.last, one.start)
    assert sum(part.end - part.start for part in path) == one.wall
    assert all(a.end == b.start for a, b in itertools.pairwise(path)), "the parts touch"
    waits = trainer_waits(one)
    for share in shares(one, waits)[0]:
        row: dict[str, Any] = share.json()
        assert row["busy"] + row["waiting"] + row["idle"] == pytest.approx(1)
        assert min(row["busy"], row["waiting"], row["idle"]) >= 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3))
def test_path_and_shares_add_up_and_a_plan_without_change_ends_as_recorded(seed: int, workers: int, steps: int) -> None:
    one = window(rows(loop(seed, workers)), 3, Batches({}), steps)
    check_sums(one)
    assert played(plan(one)) == one.end


@settings(max_examples=150, deadline=None)
@given(anything())
def test_whatever_was_recorded_adds_up(spans: list[dict[str, Any]]) -> None:
    try:
        one = window(rows(spans), 1, Batches({"a": 1}))
    except NotFound as problem:
        assert "ended before step 0" in str(problem)
        return
    if one.wall:
        check_sums(one)
        assert abs(played(plan(one)) - one.end) <= 1000, "to a microsecond"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(PHASES), st.floats(0, 1), st.integers(1, 3))
def test_faster_work_never_ends_later(seed: int, phase: Any, factor: float, workers: int) -> None:
    recorded = plan(window(rows(loop(seed, workers)), 3, Batches({}), 3))
    slower = saves(recorded, Change("", scaled((1 + factor) / 2, {phase})))
    assert 0 <= slower <= saves(recorded, Change("", scaled(factor, {phase})))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_two_engines_can_swap_their_names(seed: int) -> None:
    spans = loop(seed, 2)
    names = {"inference/0": "inference/1", "inference/1": "inference/0"}
    swapped = [{**span, "lane": names.get(span["lane"], span["lane"])} for span in spans]
    both = [window(rows(some), 3, Batches({}), 3) for some in (spans, swapped)]
    for change in (Change("", scaled(0.5, {"generate"})), Change("", ahead=1)):
        assert saves(plan(both[0]), change) == saves(plan(both[1]), change)
    here, there = ([(p.phase, p.seconds) for p in walk(one.graph, one.last, one.start)] for one in both)
    assert here == there


def test_a_phase_off_the_path_saves_nothing() -> None:
    spans = [
        span("update", "trainer/0", 0, 1, 0),
        span("generate", "inference/0", 1, 9, causes=[1]),
        span("generate", "inference/1", 1, 3, causes=[1]),
        span("wait", "trainer/0", 1, 9, kind="wait"),
        span("update", "trainer/0", 9, 12, causes=[2, 3]),
    ]
    recorded = plan(window(rows(spans), 1, Batches({})))
    assert lever(recorded, Change("", scaled(0.5, lane="inference/0")), 1).saves == pytest.approx(4)
    off = lever(recorded, Change("", scaled(0.5, lane="inference/1")), 1)
    assert off.saves == 0 and off.says == "does not help: not on the path"


def waits(spans: list[dict[str, Any]], step: int = 1) -> dict[tuple[str, str], float]:
    """(lane, reason) -> seconds."""
    one = window(rows(spans), step, Batches({}))
    named = trainer_waits(one)
    found: dict[tuple[str, str], float] = {}
    for wait in [*named, *shares(one, named)[1]]:
        found[wait.lane, wait.reason] = found.get((wait.lane, wait.reason), 0) + wait.seconds
    return {key: pytest.approx(seconds) for key, seconds in found.items() if seconds}  # type: ignore[misc]


def batch(arrivals: list[float], start: float = 1) -> list[dict[str, Any]]:
    """A step whose batch is one answer per lane, and its update of a second."""
    answers = [span("generate", f"inference/{i}", start, end) for i, end in enumerate(arrivals)]
    last = max(arrivals)
    return [
        span("update", "trainer/0", 0, start, 0),
        *answers,
        span("wait", "trainer/0", start, last, kind="wait"),
        span("update", "trainer/0", last, last + 1, causes=range(2, 2 + len(arrivals))),
    ]


def test_a_small_batch_has_no_stragglers() -> None:
    assert waits(batch([3, 9])) == {("trainer/0", "filling"): 8}


def test_the_last_of_many_answers_is_a_straggler_once_the_rest_is_there() -> None:
    assert waits(batch([3.0] * 38 + [4, 9])) == {("trainer/0", "filling"): 2, ("trainer/0", "straggler"): 6}


def test_answers_of_the_next_batch_show_that_a_batch_could_have_been_full() -> None:
    spans = [
        span("update", "trainer/0", 0, 1, 0),
        span("generate", "inference/0", 1, 9),
        span("generate", "inference/1", 1, 2),
        span("generate", "inference/1", 2, 4, 2),
        span("wait", "trainer/0", 1, 9, kind="wait"),
        span("update", "trainer/0", 9, 10, causes=[2, 3]),
        span("wait", "trainer/0", 10, 10.5, 2, kind="wait"),
        span("update", "trainer/0", 10.5, 11, 2, causes=[4]),
    ]
    found = waits(spans)
    assert found["trainer/0", "filling"] == 3 and found["trainer/0", "straggler"] == 5


def test_time_with_the_grader_and_for_weights_has_its_name() -> None:
    spans = [
        span("update", "trainer/0", 0, 1, 0),
        span("sync_weights", "trainer/0", 1, 1.5, version=1, causes=[1]),
        span("sync_weights", "inference/0", 1.5, 3, version=1, causes=[2]),
        span("generate", "inference/0", 3, 5, version=1, queued=round(1.2 * S)),
        span("reward", "inference/0", 5, 9, causes=[4]),
        span("wait", "trainer/0", 1.5, 9.25, kind="wait"),
        span("update", "trainer/0", 9.25, 10, causes=[5]),
    ]
    found = waits(spans)
    assert found["trainer/0", "grader"] == 4 and found["trainer/0", "sync"] == 1.5
    assert found["trainer/0", "filling"] == 2 and found["trainer/0", "handover"] == 0.25


def test_an_engine_without_work_waits_for_prompts() -> None:
    spans = [
        span("update", "trainer/0", 0, 1, 0),
        span("generate", "inference/0", 1, 2, queued=round(0.5 * S)),
        span("update", "trainer/0", 1, 6),
        span("generate", "inference/0", 5.5, 6, queued=round(5 * S)),
    ]
    assert waits(spans)["inference/0", "prompts"] == 3


def test_a_slot_is_busy_on_its_own_and_waits_while_its_engine_loads_weights() -> None:
    spans = [
        span("update", "trainer/0", 0, 1, 0),
        span("update", "trainer/0", 1, 5),
        span("generate", "inference/0", 1, 3),
        span("decode", "inference/0/0", 1, 3, sample="a"),
        span("decode", "inference/0/1", 1, 2, sample="b"),
        span("sync_weights", "inference/0", 3, 5, version=1),
    ]
    one = window(rows(spans), 1, Batches({}))
    (engine,) = (s.json() for s in shares(one, [])[0] if s.unit == "inference/0")
    assert (engine["busy"], engine["waiting"], engine["idle"]) == (3 / 8, 4 / 8, 1 / 8)


def test_clocks_apart_are_aligned_by_weight_updates_and_batches_and_it_is_said() -> None:
    late = 100.0  # the engine's clock is so far ahead
    spans = [
        span("update", "trainer/0", 0, 1, 0),
        span("sync_weights", "trainer/0", 1, 2, version=1, causes=[1]),
        span("sync_weights", "inference/0", 1.5 + late, 2 + late, version=1),
        span("generate", "inference/0", 2 + late, 6 + late, version=1),
        span("wait", "trainer/0", 2, 6.5, kind="wait"),
        span("update", "trainer/0", 6.5, 8, causes=[4]),
    ]
    one = window(rows(spans), 1, Batches({}))
    (shift,) = one.shifts
    assert abs(shift.seconds + late) <= (shift.residual or 0) <= 1
    assert "inference/0" in shift.says and "ahead of" in shift.says and "±" in shift.says
    check_sums(one)
    assert [part.phase for part in walk(one.graph, one.last, one.start)].count("generate") == 1


def test_clocks_that_fit_are_left_alone() -> None:
    assert window(rows(loop(1)), 2, Batches({})).shifts == []


def test_ten_thousand_lanes_add_up() -> None:
    lanes = [span("generate", f"inference/{i}", 1, 2 + i / 1e4) for i in range(10_000)]
    one = window(
        rows([span("update", "trainer/0", 0, 1, 0), *lanes, span("update", "trainer/0", 3, 4)]), 1, Batches({})
    )
    check_sums(one)


# ---- on a stored run


def stored(world: Any, spans: list[dict[str, Any]], samples: list[dict[str, Any]] | None = None) -> Any:
    w = world.writer()
    columns = {"start": "start_ns", "end": "end_ns", "queued": "queued_ns"}
    w.rows("spans", [{"id": i + 1, **{columns.get(k, k): v for k, v in s.items()}} for i, s in enumerate(spans)])
    if samples:
        w.rows("samples", samples)
    return rs.open(world.root).run()


def test_the_step_that_is_asked_for_is_answered_with_its_wall_time(world: Any) -> None:
    run = stored(world, batch([3, 9]))
    got = answer(run, 1).json()
    assert got["step"] == 1 and got["wall_s"] == pytest.approx(9)
    assert got["wall_s"] == run.series("time/step")["value"].tolist()[0]
    assert sum(part["seconds"] for part in got["path"]) == pytest.approx(got["wall_s"], abs=1e-6)
    assert set(got["path"][0]) >= {"phase", "lane", "sample", "seconds"}
    assert set(got["lanes"][0]) >= {"busy", "waiting", "idle"} and set(got["levers"][0]) >= {"change", "saves_s"}


def test_samples_say_which_batch_they_were_trained_in(world: Any) -> None:
    spans = [
        span("update", "trainer/0", 0, 1, 0),
        span("generate", "inference/0/0", 1, 5, sample="a"),
        span("generate", "inference/0/1", 1, 8, sample="other"),
        span("wait", "trainer/0", 1, 8.5, kind="wait"),
        span("update", "trainer/0", 8.5, 9),
    ]
    samples = [{"id": "a", "step": 1, "trained": True}, {"id": "other", "step": 2, "trained": True}]
    path = answer(stored(world, spans, samples), 1).path
    assert [part.sample for part in path if part.phase == "generate"] == ["a"]


def test_a_step_without_spans_is_said_with_those_that_have_some(world: Any) -> None:
    run = stored(world, batch([3, 9]))
    with pytest.raises(NotFound, match="step 7 has no spans"):
        answer(run, 7)


def test_a_run_without_spans_names_the_call_that_records_them(world: Any) -> None:
    world.writer().rows("notes", [{"text": "hello"}])
    with pytest.raises(NotFound, match=r"run\.span"):
        answer(rs.open(world.root).run())


def test_a_range_of_steps_has_medians_whose_shares_agree_with_each_step(world: Any) -> None:
    spans = [{**s, "start": s["start"] * S, "end": s["end"] * S} for s in loop(3, steps=6)]
    for one in spans:
        one["queued"] = one["queued"] * S if "queued" in one else -1
    run = stored(world, [{k: v for k, v in s.items() if k != "causes" and v != -1} for s in spans])
    found = stretch(run)
    assert found.steps == [1, 2, 3, 4, 5]
    for at, step in enumerate(found.steps):
        got = answer(run, step).json()
        assert found.wall[at] == pytest.approx(got["wall_s"])
        lanes = {lane["lane"]: lane for lane in got["lanes"]}
        for unit, busy in zip(found.units, found.busy[at], strict=True):
            assert busy == pytest.approx(lanes[unit]["busy"] if unit in lanes else 0)
    assert found.json()["wall_s"] == pytest.approx(float(np.median(found.wall)))


def steady(world: Any, wait: float, steps: int = 9, answers: int = 1, **more: Any) -> Any:
    """Steps of ten seconds, of which the trainer waits some while an engine generates."""
    spans = []
    for step in range(steps):
        at = 10.0 * step
        for i in range(answers):
            end = at + wait * (1 if i == answers - 1 else 0.5)
            spans.append(span("generate", f"inference/0/{i}", at, end, step, sample=f"{step}.{i}", **more))
        spans.append(span("wait", "trainer/0", at, at + wait, step, kind="wait"))
        spans.append(span("update", "trainer/0", at + wait, at + 10, step))
        spans.append(span("sync_weights", "trainer/0", at + 9, at + 10, step, version=step))
    return stored(world, spans)


def test_a_trainer_that_waits_for_busy_engines_is_the_starved_side(world: Any) -> None:
    got = starved(steady(world, wait=6))
    assert got.trainer == pytest.approx(0.6) and got.inference == 0 and got.side == "trainer"


def test_a_run_in_which_nobody_waits_much_starves_no_side(world: Any) -> None:
    assert starved(steady(world, wait=1)).side is None


def test_the_share_of_weight_updates_is_of_the_wall_time(world: Any) -> None:
    assert sync_share(steady(world, wait=1)) == pytest.approx(0.1)


def test_the_last_sample_of_a_step_is_its_straggler(world: Any) -> None:
    first = stragglers(steady(world, wait=6, answers=10))[0]
    assert (first.step, first.sample, first.lane) == (1, "1.9", "inference/0/9")
    assert first.seconds == pytest.approx(3) and first.share == pytest.approx(0.3)


def test_a_lane_is_silent_when_its_last_span_is_long_ago(world: Any) -> None:
    run = steady(world, wait=6)
    assert silent(run, now_ns=95 * S) == []
    lanes = {one.lane for one in silent(run, now_ns=500 * S)}
    assert lanes == {"trainer/0", "inference/0/0"}


def test_longer_answers_are_not_blamed_on_the_machine(world: Any) -> None:
    spans, samples, at = [], [], 0.0
    for step in range(12):
        tokens = 100 * (1 + step // 6)
        spans.append(span("generate", "trainer/0", at, at + tokens / 100, step))
        spans.append(span("optimizer", "trainer/0", at + tokens / 100, at + tokens / 100 + 1 + step // 6, step))
        at += tokens / 100 + 1 + step // 6
        samples.append({"id": str(step), "step": step, "completion_tokens": tokens, "prompt_tokens": 1})
    found = slower(stored(world, spans, samples))
    assert [one.name for one in found] == ["optimizer"] and "times as long" in found[0].says


def test_many_spans_are_drawn_as_few_and_as_they_are_when_zoomed_in(world: Any) -> None:
    spans = [span("update", "trainer/0", 0, 30, 0)]
    spans += [span("tool", f"inference/0/{i % 2}", i / 1000, i / 1000 + 0.0004, 0) for i in range(30_000)]
    run = stored(world, spans)
    origin = lanes_of(run).origin
    head, far = picture(run, origin, origin + 30 * S, 100)
    assert head["spans"] == 30_001 and not head["exact"] and len(far["start"]) <= 3 * 101
    assert int(far["count"].sum()) == 30_001, "every span is in some mark"
    head, near = picture(run, origin + 10 * S, origin + 11 * S, 100)
    assert head["exact"] and set(near["count"].tolist()) == {1} and head["spans"] == pytest.approx(1001, abs=2)


def test_a_step_is_shown_between_its_neighbours_and_the_picture_says_of_which_lanes_it_is(world: Any) -> None:
    run = stored(world, [span("update", "trainer/0", step, step + 0.5, step) for step in (2, 3, 5, 9)])
    lanes = lanes_of(run)
    seconds = {
        step: [round((at - lanes.origin) / S, 6) for at in lanes.around(step)] for step in (None, 0, 2, 3, 4, 5, 99)
    }
    assert seconds[3] == seconds[4] == [0, 3.5], "a step without spans shows the one before"
    assert seconds[0] == seconds[2] == [0, 1.5]
    assert seconds[5] == [0.5, 7.5], "step 3 begins where step 2 ends"
    assert seconds[None] == seconds[99] == [3, 7.5], "no step ends where step 5 begins"
    head, _ = picture(run, *lanes.around(5), 100)
    assert (head["lo"], head["hi"]) == (0.5, 7.5) and (head["tracks"], head["names"]) == (1, 1)


def test_machines_are_measured_over_the_stretch_and_belong_to_the_unit_of_their_process(world: Any) -> None:
    w = world.writer()
    times = [("update", "trainer/0", 0, 10), ("generate", "inference/0", 0, 9)]
    rows = [{"name": n, "lane": lane, "kind": "work", "start_ns": a * S, "end_ns": b * S} for n, lane, a, b in times]
    w.rows("spans", [{"id": i + 1, "step": 0, **row} for i, row in enumerate(rows)])
    reading = {"host": "node", "device": "gpu0"}
    for i in range(10):
        w.rows("host", [{**reading, "name": "host/gpu_utilisation", "time_ns": i * S, "value": i / 10}])
    run = rs.open(world.root).run()
    (strip,) = strips(run, 0, 10 * S, 5)
    assert (strip["unit"], strip["device"]) == ("trainer/0", "gpu0")
    assert strip["busy"] == pytest.approx([0.05, 0.25, 0.45, 0.65, 0.85]), "means of each part"
    assert strip["full"] == [None] * 5, "nothing measured is None"


def test_a_span_that_a_dead_process_left_open_is_said_and_ends_with_the_last_that_is_known(world: Any) -> None:
    run = stored(world, [span("update", "trainer/0", 0, 10, step=0)])
    row = {"name": "generate", "lane": "inference/0", "kind": "work", "start_ns": 4 * S}
    (Path(run.path) / "0123456789abcdef.open.json").write_text(json.dumps({"spans": [row, {"name": 3}, "odd"]}))
    (Path(run.path) / "fedcba9876543210.open.json").write_text("{")
    (one,) = in_flight(run, lanes_of(run))
    assert (one["lane"], one["alive"], one["start_s"], one["seconds"]) == ("inference/0", False, 4, 6)


def test_lanes_are_drawn_on_the_clock_of_the_answer(world: Any) -> None:
    late = 100.0
    spans = [
        span("update", "trainer/0", 0, 1, 0),
        span("sync_weights", "trainer/0", 1, 2, version=1, causes=["1"]),
        span("sync_weights", "inference/0", 1.5 + late, 2 + late, version=1),
        span("generate", "inference/0", 2 + late, 6 + late, version=1, sample="a"),
        span("wait", "trainer/0", 2, 6.5, kind="wait"),
        span("update", "trainer/0", 6.5, 8, causes=["4"]),
    ]
    run = stored(world, spans)
    lanes = lanes_of(run)
    assert (lanes.end - lanes.origin) / 1e9 == pytest.approx(8), "not a hundred seconds more"
    head, columns = picture(run, lanes.origin, lanes.end, 1000)
    (drawn,) = [i for i, code in enumerate(columns["sample"]) if code >= 0]
    (part,) = [part for part in answer(run, 1).path if part.phase == "generate"]
    assert columns["start"][drawn] == pytest.approx((part.start - lanes.origin) / 1e9, abs=0.3)
    assert head["samples"] == ["a"] and columns["start"].tolist() == sorted(columns["start"].tolist())
    assert span_of(run, find(run, "a")[0]["key"])["seconds"] == 4


ODD = {
    "overlapping on one lane": [("a", "env/0", 0, 5), ("b", "env/0", 3, 8), ("c", "env/0", 4, 6)],
    "out of order": [("b", "env/0", 6, 7), ("a", "env/0", 1, 2)],
    "without a length": [("a", "env/0", 4, 4), ("b", "env/0", 4, 4)],
    "one inside another, with the same start": [("a", "env/0", 2, 2), ("b", "env/0", 2, 6), ("c", "env/0", 2, 4)],
    "a clock that went back": [("a", "env/0", 6, 3)],
    "a lane with odd words": [("a", "env//x/ /", 1, 2), ("b", "", 3, 4)],
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_spans_are_all_drawn_and_their_sums_hold(kind: str, world: Any) -> None:
    spans = [span("update", "trainer/0", 0, 10, 1), *(span(*one) for one in ODD[kind])]
    run = stored(world, spans)
    lanes = lanes_of(run)
    head, columns = picture(run, lanes.origin, lanes.end, 1000)
    assert head["spans"] == len(columns["start"]) == len(spans)
    assert (columns["end"] >= columns["start"]).all()
    for track in set(columns["track"].tolist()):
        own = sorted(zip(*(columns[c][columns["track"] == track].tolist() for c in ("start", "end")), strict=True))
        for (a, b), (c, d) in itertools.pairwise(own):
            assert c >= b or d <= b or (a, b) == (c, d) or a == c, "side by side, or one inside the other"
    found = answer(run, 1)
    assert sum(part.end - part.start for part in found.path) == found.window.wall == 10 * S
    busy = sums(run, lanes.origin, lanes.end)
    assert all(part["seconds"] <= 10.001 * len(spans) for part in busy["names"])


def test_a_picture_of_many_steps_has_versions_and_one_of_few_has_samples_too(tmp_path: Path) -> None:
    """Read apart, by step and by key, spans are the same as read all at once."""
    with rs.init(project="p", id="many", dir=tmp_path, host=False) as run:
        for step in range(300):
            for slot in range(80):
                start = step * S + slot * S // 100
                more = {"step": step, "sample": f"s{step}.{slot}", "version": step // 10}
                run.log_span("generate", start, start + S // 4, f"inference/0/{slot}", **more)
        run.log_span("update", 0, S, "trainer/0")
    reader = rs.open(tmp_path).run("many")
    head, near = picture(reader, 5 * S, 7 * S, 1000)
    assert head["exact"] and {"s5.79", "s6.0"} <= set(head["samples"])
    samples = [head["samples"][code] for code in near["sample"].tolist() if code >= 0]
    versions = near["version"].tolist()
    assert all(int(s[1:].split(".")[0]) // 10 == v for s, v in zip(samples, versions, strict=False) if v >= 0)
    far_head, far = picture(reader, 0, 300 * S, 2000)
    assert not far_head["exact"] and not far_head["samples"]
    wide = far["count"] == 1
    assert set(far["version"][wide].tolist()) == {-1, *range(30)}
    assert find(reader, "s5.79")[0]["lane"] == "inference/0/79"


def test_where_only_workers_of_ray_have_spans_those_that_train_make_the_step() -> None:
    spans = [
        *(span("generate", "ray:Engine/0", 10 * step, 10 * step + 4, step) for step in (1, 2)),
        *(
            span("update_actor", f"ray:Trainer/{i}", 10 * step + 4, 10 * step + 8 + i, step)
            for step in (1, 2)
            for i in (0, 1)
        ),
    ]
    one = window(rows(spans), 2, Batches({}))
    assert (one.start, one.end) == (19 * S, 29 * S)
    parts = walk(one.graph, one.last, one.start)
    assert [(part.phase, part.lane) for part in parts[-2:]] == [
        ("generate", "ray:Engine/0"),
        ("update_actor", "ray:Trainer/1"),
    ]


def test_stages_of_a_driver_make_the_step_where_workers_of_ray_have_spans_too() -> None:
    spans = [
        span("update_actor", "driver/0", 1, 5, 1),
        span("update_actor", "ray:WorkerDict/0", 1, 9, 1),
    ]
    assert window(rows(spans), 1, Batches({})).end == 5 * S
