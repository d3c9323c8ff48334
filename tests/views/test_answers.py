"""What a change would save: recorded steps played again, on small timelines with known ends."""

from __future__ import annotations

from typing import Any

import pytest

from rollscope.views.answers.levers import ONE_MORE, Change, Lever, best, saves, scaled, without_tail
from rollscope.views.answers.plan import plan
from rollscope.views.answers.simulate import Duration, played
from rollscope.views.timeline.graph import Batches, Graph
from rollscope.views.timeline.window import window
from tests.views.test_timeline import S, rows, span


def two_workers(each: int = 3) -> list[dict[str, Any]]:
    """Two workers answer a request a second; the trainer takes each answer as it comes."""
    spans = [span("update", "trainer/0", 0, 0.5, step=0)]
    ends, at = [], 0.5
    for i in range(each):
        for worker in (0, 1):
            begin = 0.5 + i + 0.1 * worker
            lane, more = f"inference/{worker}", {"queued": round(0.5 * S), "version": 0}
            spans.append(span("generate", lane, begin, begin + 1 - 0.05 * worker, **more))
            ends.append((begin + 1 - 0.05 * worker, len(spans)))
            spans.append(span("wait_data", "trainer/0", at, ends[-1][0], kind="wait"))
            spans.append(span("pipeline", "trainer/0", ends[-1][0], ends[-1][0] + 0.01))
            at = ends[-1][0] + 0.01
    spans.append(span("update", "trainer/0", at, at + 0.5, causes=[key for _, key in ends]))
    return spans


def shorter(lane: str, factor: float) -> Change:
    return Change("", scaled(factor, {"generate"}, lane))


def recorded(spans: list[dict[str, Any]]) -> Any:
    return plan(window(rows(spans), 1, Batches({})))


def test_a_wait_between_two_answers_lasts_as_long_as_the_next_one_takes() -> None:
    both = Change("", scaled(0.5, {"generate"}))
    assert saves(recorded(two_workers()), both) / 1e9 == pytest.approx(1.5, abs=0.1), "half of three seconds"
    assert saves(recorded(two_workers()), shorter("inference/0", 0.5)) / 1e9 < 0.2, (
        "the other worker is as slow as before"
    )


def test_one_engine_more_takes_a_third_of_the_requests() -> None:
    assert saves(recorded(two_workers()), Change("", engines=1)) / 1e9 == pytest.approx(1, abs=0.1)
    assert saves(recorded(two_workers()), Change("", engines=-1)) / 1e9 == pytest.approx(-3, abs=0.4)


def test_a_weight_update_that_ends_in_the_wait_does_not_bring_the_requests() -> None:
    """The trainer waits already, a worker still loads weights, and then six requests are queued."""
    spans = [span("update", "trainer/0", 0, 0.5, step=0), span("sync_weights", "trainer/0", 0.5, 0.6, version=1)]
    loads = (span("sync_weights", f"inference/{i}", 0.55, 0.61 + 0.01 * i, version=1, causes=[2]) for i in (0, 1))
    spans += [*loads, span("wait_data", "trainer/0", 0.6, 3.7, kind="wait")]
    keys = []
    for i in range(6):
        begin = 0.65 + i // 2
        spans.append(span("generate", f"inference/{i % 2}", begin, begin + 1, queued=round(0.64 * S), version=1))
        keys.append(len(spans))
    spans.append(span("update", "trainer/0", 3.7, 4, causes=keys))
    assert saves(recorded(spans), Change("", engines=1)) == pytest.approx(S), "two rounds instead of three"
    assert played(recorded(spans)) == played(recorded(spans), engines=0) == 4 * S


def test_a_request_that_follows_an_answer_of_its_engine_comes_earlier_with_it() -> None:
    """One engine, one request in flight: each answer makes the trainer send the next request."""
    spans = [span("update", "trainer/0", 0, 1, step=0), span("wait_data", "trainer/0", 1, 4, kind="wait")]
    for i in range(3):
        spans.append(span("generate", "inference/0", 1 + i, 2 + i, queued=(1 + i) * S))
    spans.append(span("update", "trainer/0", 4, 5, causes=[3, 4, 5]))
    assert saves(recorded(spans), Change("", engines=1)) == 0, "the next request waits for an answer"
    assert saves(recorded(spans), Change("", scaled(0.5, {"generate"}), engines=1)) == pytest.approx(1.5 * S)


def test_every_rank_waits_for_its_whole_batch() -> None:
    spans = [span("update", f"trainer/{rank}", 0, 1, step=0) for rank in (0, 1)]
    spans += [span("generate", f"inference/{i}", 1, 2 + i, queued=S) for i in range(4)]
    for rank in (0, 1):
        spans.append(span("wait_data", f"trainer/{rank}", 1, 5, kind="wait"))
        spans.append(span("update", f"trainer/{rank}", 5, 6, causes=[3, 4, 5, 6]))

    def last_is_longer(graph: Graph) -> Duration:
        def duration(i: int) -> int:
            return graph.end[i] - graph.start[i] + (2 * S if graph.lane(i) == "inference/3" else 0)

        return duration

    assert saves(recorded(spans), Change("", last_is_longer)) == -2 * S, "both ranks wait for the slowest answer"
    assert played(recorded(spans)) == 6 * S


def test_the_tail_of_a_request_is_seen_in_slots_that_begin_a_moment_before_it() -> None:
    spans = [span("update", "trainer/0", 0, 1, step=0), span("generate", "inference/0", 1, 11, queued=S)]
    ends = [3.0] * 39 + [11.0]
    spans += [
        span("decode", f"inference/0/{slot}", 0.9999, end, sample=f"s{slot}", queued=S) for slot, end in enumerate(ends)
    ]
    spans.append(span("wait_data", "trainer/0", 1, 11, kind="wait"))
    spans.append(span("update", "trainer/0", 11, 12, causes=[2]))
    assert saves(recorded(spans), Change("", without_tail)) / 1e9 == pytest.approx(8, abs=0.5)


def test_an_engine_more_brings_as_many_slots_as_the_others_have() -> None:
    spans = [span("update", "trainer/0", 0, 1, step=0)]
    for i in range(12):
        lane, begin = f"inference/{i % 4 // 2}/{i % 2}", 1 + i // 4
        spans.append(span("generate", lane, begin, begin + 1, queued=S + i, sample=f"s{i}"))
    spans.append(span("wait_data", "trainer/0", 1, 4, kind="wait"))
    spans.append(span("update", "trainer/0", 4, 5, causes=list(range(2, 14))))
    assert saves(recorded(spans), Change("", engines=1)) == pytest.approx(S), "twelve answers, six slots: two rounds"
    assert saves(recorded(spans), Change("", engines=-1)) == pytest.approx(-3 * S), "and on two slots six"


def test_whether_an_engine_more_helps_is_always_said() -> None:
    found = [Lever(f"change {i}", 9 - i, 0.5) for i in range(6)] + [Lever(ONE_MORE, 0, 0)]
    assert [one.change for one in best(found, 5)] == [*(f"change {i}" for i in range(4)), ONE_MORE]
    assert best(found[:3], 5) == found[:3]


def test_a_wait_that_is_cut_by_another_and_never_joined_still_ends_with_its_cause() -> None:
    spans = [span("update", "trainer/0", 0, 1, step=0), span("generate", "inference/0", 1, 3)]
    spans += [
        span("wait_data", "trainer/0", 1, 3, kind="wait", causes=[2]),
        span("wait", "trainer/0", 3, 3, kind="wait"),
    ]
    assert played(recorded(spans)) == 3 * S
    assert saves(recorded(spans), Change("", scaled(0.5, {"generate"}))) == S


def test_what_an_evaluation_generates_is_evaluation() -> None:
    spans = [span("update", "trainer/0", 0, 1, step=0), span("step", "trainer/0", 1, 3)]
    spans += [span("generate", "trainer/0", 1, 2), span("evaluate", "trainer/0", 3, 6)]
    spans += [span("generate", "trainer/0", 3.5, 5.5)]
    assert saves(recorded(spans), Change("", scaled(0, {"eval"}))) == 3 * S
    assert saves(recorded(spans), Change("", scaled(0.5, {"generate"}))) == S // 2
