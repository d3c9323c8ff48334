"""A step's facts may come in any number of calls: samples count once, and numbers are the same.

docs/recording.md states the rule by which calls speak of the same samples.
"""

from __future__ import annotations

import math
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollscope.catalog.compute.subset import take
from rollscope.catalog.keys import KEYS
from rollscope.record.caller.batch import Ready
from rollscope.record.caller.queue import NUMBERS, Queue
from rollscope.record.compute import open_steps
from rollscope.record.compute.counters import Counters
from rollscope.record.compute.jobs import Jobs
from rollscope.record.identity import Attempt
from rollscope.record.loss import Losses
from rollscope.record.write.steps import merge
from rollscope.store.log.block import Labels
from tests.catalog.whole_world import whole_world

STEP_LEVELS = ("step", "word", "object")
OF_ONE_BATCH = "balance/"  # cuts the batch in its own order: a part of a batch is another batch


class Kept:
    """A sink that keeps the merged values of each step."""

    def __init__(self) -> None:
        self.steps: dict[int, dict[str, Any]] = {}

    def write(self, rows: list[Any]) -> None:
        self.steps |= {row.step: row.data for row in rows if row.table == "metrics"}

    def close(self) -> None:
        pass


@pytest.fixture
def record(init: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(open_steps, "HOLD_SECONDS", 600.0)  # however slow the machine is, no call comes late

    def run(calls: list[dict[str, Any]], **more: Any) -> dict[str, float]:
        sink = Kept()
        run = init(sinks=[sink], **more)
        for call in calls:
            run.log_batch(call, step=0)
        run.finish()
        assert not run.losses
        return {name: float(value) for name, value in sink.steps[0].items()}

    return run


def differing(left: dict[str, float], right: dict[str, float]) -> dict[str, Any]:
    def same(a: float, b: float) -> bool:
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))

    names = [name for name in left.keys() | right.keys() if OF_ONE_BATCH not in name]
    odd = [name for name in names if name not in left or name not in right or not same(left[name], right[name])]
    return {name: (left.get(name), right.get(name)) for name in odd}


# The rule, case by case

TOKENS = {"logp": -np.ones((4, 3)), "action_mask": np.ones((4, 3))}
REWARDS = {"reward": np.array([1.0, 0.0, 1.0, 0.0])}
EIGHT = {"reward": np.arange(8.0)}
SIX = {"reward": np.arange(6.0)}


def ids(words: str, facts: dict[str, Any]) -> dict[str, Any]:
    return {"sample": list(words), **facts}


COUNTS: dict[str, tuple[list[dict[str, Any]], int]] = {
    "different facts are of the same samples": ([TOKENS, REWARDS], 4),
    "in either order": ([REWARDS, TOKENS], 4),
    "a repeated fact is of other samples": ([REWARDS, REWARDS], 8),
    "two micro-batches, each in two calls": ([TOKENS, REWARDS, TOKENS, REWARDS], 8),
    "all tokens, then all rewards": ([TOKENS, TOKENS, REWARDS, REWARDS], 8),
    "rewards of 8 fit tokens of 4 and 4": ([TOKENS, TOKENS, EIGHT], 8),
    "tokens of 4 and 4 fit rewards of 8": ([EIGHT, TOKENS, TOKENS], 8),
    "tokens, rewards of both, tokens": ([TOKENS, EIGHT, TOKENS], 8),
    "a call with the facts of another and more is of others": ([TOKENS, {**TOKENS, **REWARDS}], 8),
    "some of six, it is not known which": ([TOKENS, SIX], 6),
    "some of six, told after them": ([SIX, TOKENS], 6),
    "rewards of the second micro-batch alone": (
        [TOKENS, {key: value[:3] for key, value in TOKENS.items()}, {"reward": np.zeros(3)}],
        7,
    ),
    "the same ids": ([ids("abcd", TOKENS), ids("dcba", REWARDS)], 4),
    "ids of some": ([ids("bdfh", TOKENS), ids("abcdefgh", EIGHT)], 8),
    "ids of some, told after all": ([ids("abcdefgh", EIGHT), ids("hfdb", TOKENS)], 8),
    "other ids": ([ids("abcd", TOKENS), ids("efgh", REWARDS)], 8),
    "ids in one call only": ([ids("abcd", TOKENS), REWARDS], 4),
    "the same groups": ([{"group": [0, 0, 1, 1], **TOKENS}, {"group": [0.0, 0.0, 1.0, 1.0], **REWARDS}], 4),
    "other groups": ([{"group": [0, 0, 1, 1], **TOKENS}, {"group": [2, 2, 3, 3], **REWARDS}], 8),
    "the same masks": ([TOKENS, {"entropy": np.ones((4, 3)), "action_mask": np.ones((4, 3))}], 4),
    "other masks": ([TOKENS, {"entropy": np.ones((4, 3)), "action_mask": np.zeros((4, 3))}], 8),
    "components of a reward": ([{"rewards": {"a": np.ones(4)}, **REWARDS}, {"rewards": {"b": np.ones(4)}}], 4),
    "a component again": ([{"rewards": {"a": np.ones(4)}, **REWARDS}, {"rewards": {"a": np.ones(4)}, **REWARDS}], 8),
    "a call without samples": ([REWARDS, {"lr": 1e-6}], 4),
    "a number for all samples": ([REWARDS, {"max_completion_tokens": 8}], 4),
    "packed tokens": ([{"lengths": [1, 2, 0, 3], "logp": -np.ones(6)}, REWARDS], 4),
    "packed tokens, lengths apart": ([{"logp": -np.ones(6)}, {"lengths": [1, 2, 0, 3]}, REWARDS], 4),
    "lists": ([{"logp": [[-1.0], [-1.0, -2.0], [], [-1.0]]}, {"reward": [1.0, None, 0.0, 1.0]}], 4),
}


@pytest.mark.parametrize("case", COUNTS)
def test_samples_are_counted_once(record: Any, case: str) -> None:
    calls, count = COUNTS[case]
    got = record([call | {"prompt_tokens": 2.0} if "reward" in call else call for call in calls])
    assert {got["samples/generated"], got["counter/samples"]} == {count}


def test_joined_calls_give_what_neither_gives_alone(record: Any) -> None:
    clip = {"clip_low": 0.2, "clip_high": 0.2}
    got = record([TOKENS | {"old_logp": -2 * np.ones((4, 3))}, {"advantages": np.ones(4)}, clip])
    assert got["policy/clip/high"] == 1.0


def test_a_value_of_the_step_holds_for_every_micro_batch_and_is_written_once(record: Any) -> None:
    half = {key: value[:2] for key, value in TOKENS.items()}
    prompts = {"prompt_tokens": np.ones(2), "response_tokens": np.ones(2)}
    operators = [{"name": "filter", "in": 4, "out": 2, "seconds": 0.1}]
    got = record([half | prompts | {"seconds": {"step": 2.0}, "operators": operators, "gpus": 1}, half | prompts])
    assert got["pipeline/in"] == 4.0 and got["perf/tokens"] == 8.0
    assert got["perf/throughput"] == 4.0, "tokens of both micro-batches over the seconds of the step"


def test_facts_that_come_late_add_what_was_missing_and_count_nothing_twice(init: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(open_steps, "HOLD_SECONDS", 0.0)
    sink = Kept()
    run = init(sinks=[sink])
    for call in (TOKENS, REWARDS, TOKENS, {"old_logp": -2 * np.ones((4, 3))}, REWARDS, {"lr": 0.1}):
        run.log_batch(call, step=0)
        assert run.flush(60)
    run.finish()
    got = {name: float(value) for name, value in sink.steps[0].items()}
    assert got["samples/generated"] == got["counter/samples"] == got["counter/episodes"] == 8
    assert sink.steps[0]["reward/mean"].weight == 8 and sink.steps[0]["policy/entropy_sampled"].weight == 24
    assert sink.steps[0]["policy/kl_update_k1"].weight == 12, "old_logp came for the first micro-batch alone"
    assert got["optimiser/lr"] == 0.1


def test_a_call_waits_no_longer_than_its_time(init: Any) -> None:
    """Without a commit or a later step, its batch is computed all the same."""
    run = init()
    run.log_batch(REWARDS, step=0)
    deadline = time.monotonic() + 60
    while run._recorder.queue.computing:
        assert time.monotonic() < deadline, "its batch is not computed"
        time.sleep(0.02)


# The law


def computed(calls: list[dict[str, Any]], folder: Any) -> dict[str, float]:
    """The merged values that the recorder's jobs put into the queue for these calls of one step.

    The jobs run on this thread: hundreds of workers would only wait.
    """
    losses = Losses()
    queue = Queue(losses)
    jobs = Jobs(queue, Counters(Attempt("run", folder), "writer", alone=True), labels, losses)
    for call in calls:
        jobs.take(call, Ready(call), 0, 0)
    jobs.release_all()
    assert not losses.total
    values: dict[str, Any] = {}
    for item in queue.take():
        if isinstance(item, tuple) and item[0] == NUMBERS:
            env = item[4].env
            merge(values, item[3] if env is None else {f"{env}: {name}": value for name, value in item[3].items()})
    return {name: float(value) for name, value in values.items()}


def labels(env: str | None = None, split: str = "train") -> Labels:
    return Labels(1, 0, env, split, None)


def lots_of(batch: dict[str, Any], cuts: list[int]) -> list[dict[str, Any]]:
    """Samples in consecutive lots; what holds for the step is in the first."""
    size = len(batch["score"])
    edges = sorted({0, size, *(cut % size for cut in cuts)})
    step = {key: value for key, value in batch.items() if KEYS[key].level in STEP_LEVELS}
    lots = [take(batch, range(start, stop)) for start, stop in pairwise(edges)]
    return [step, *({key: value for key, value in lot.items() if key not in step} for lot in lots)]


def parts_of(lot: dict[str, Any], owner: np.ndarray[Any, Any], count: int) -> list[dict[str, Any]]:
    """The keys of a lot dealt to some calls, columns of tables one by one."""
    parts: list[dict[str, Any]] = [{} for _ in range(count)]
    for (key, value), at in zip(sorted(lot.items()), owner, strict=False):
        if KEYS[key].level == "table":
            for i, (column, values) in enumerate(sorted(value.items())):
                parts[(at + i) % count].setdefault(key, {})[column] = values
        else:
            parts[at % count][key] = value
    return [part for part in parts if part]


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 1000),
    st.booleans(),
    st.lists(st.integers(1, 11), max_size=2),
    st.integers(1, 4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_any_way_of_splitting_a_step_gives_the_same_numbers(
    tmp_path: Any, seed: int, fates: bool, cuts: list[int], count: int, lot_by_lot: bool, dice: Any
) -> None:
    """By keys, by samples, by both. Without ids, the lots of each key come in one order."""
    batch = whole_world(seed, 12, fates, seed % 12)
    owner = np.array([dice.randrange(count) for _ in KEYS])
    lots = [parts_of(lot, owner, count) for lot in lots_of(batch, cuts)]
    calls = [part for lot in lots for part in lot]
    if not lot_by_lot:  # the same calls, key by key
        calls = [lot[i] for i in range(count) for lot in lots if i < len(lot)]
    assert not differing(computed([batch], tmp_path), computed(calls, tmp_path))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1000), st.booleans(), st.integers(1, 5), st.randoms(use_true_random=False))
def test_with_ids_samples_and_calls_may_come_in_any_order(
    tmp_path: Any, seed: int, fates: bool, count: int, dice: Any
) -> None:
    batch = whole_world(seed, 12, fates) | {"sample": [f"s{i}" for i in range(12)]}
    step, *lots = lots_of(batch, [dice.randrange(1, 12)])
    calls = [step]
    for lot in lots:
        owner = np.array([dice.randrange(count) for _ in KEYS])
        parts = parts_of({key: value for key, value in lot.items() if key != "sample"}, owner, count)
        order = [dice.sample(range(len(lot["sample"])), len(lot["sample"])) for _ in parts]
        parts = [part | {"sample": lot["sample"]} for part in parts]
        calls += [take(part, index) for part, index in zip(parts, order, strict=True)]
    dice.shuffle(calls)
    assert not differing(computed([batch], tmp_path), computed(calls, tmp_path))
