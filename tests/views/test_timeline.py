"""Who waits for whom: laws on generated timelines, and the names of waits on small ones."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollscope as rs
from rollscope.errors import NotFound
from rollscope.views.timeline.answer import answer
from rollscope.views.timeline.graph import Batches
from rollscope.views.timeline.levers import Change, lever, saves, scaled
from rollscope.views.timeline.path import walk
from rollscope.views.timeline.plan import plan
from rollscope.views.timeline.rows import Rows
from rollscope.views.timeline.shares import shares
from rollscope.views.timeline.simulate import played
from rollscope.views.timeline.waits import trainer_waits
from rollscope.views.timeline.window import Window, window

S = 10**9
PHASES = ("generate", "tool", "grader", "train", "sync")


def rows(spans: list[dict[str, Any]]) -> Rows:
    """Spans as the store gives them, numbered in this order."""
    numbered = sorted(({"id": i + 1, **span} for i, span in enumerate(spans)), key=lambda span: span["start"])

    def codes(key: str) -> tuple[np.ndarray, list[str]]:
        words = list(dict.fromkeys(span[key] for span in numbered if span.get(key) is not None))
        return np.array([words.index(s[key]) if s.get(key) is not None else -1 for s in numbered], np.int64), words

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
