"""`rs.evaluate`: the frameworks' validation numbers to 1e-5, the exact numbers, and failures."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollscope as rs
from rollscope.catalog import drawing
from rollscope.catalog.partials.partial import from_state
from rollscope.errors import BadInput

DATA = Path(__file__).parent / "data"
VERL: dict[str, Any] = json.loads((DATA / "verl_step.json").read_text())["validation"]
TRINITY: dict[str, Any] = json.loads((DATA / "trinity_eval.json").read_text())
near = lambda value: pytest.approx(value, rel=1e-5, abs=1e-5, nan_ok=True)  # noqa: E731


def rows_of(tasks: Any, score: str = "accuracy") -> list[dict[str, Any]]:
    return [{"task": t, "repeat": r, "scores": {score: x}} for t, runs in enumerate(tasks) for r, x in enumerate(runs)]


def verl_rows(*scores: str) -> dict[str, list[dict[str, Any]]]:
    """The inputs of veRL's oracle as our rows, by data source."""
    sets: dict[str, list[dict[str, Any]]] = {}
    for i, (source, uid) in enumerate(zip(VERL["data_sources"], VERL["sample_uids"], strict=True)):
        row = {"task": uid, "scores": {s: VERL["infos"][s][i] for s in scores}, "answer": VERL["infos"]["pred"][i]}
        sets.setdefault(source, []).append(row)
    return sets


# against veRL


@pytest.mark.parametrize(
    ("scores", "oracle"),
    [(("reward", "acc", "format"), "update"), (("reward", "format"), "update_no_acc")],
    ids=["with acc", "reward is the core"],
)
def test_validation_is_verls_key_by_key(scores: tuple[str, ...], oracle: str) -> None:
    named: dict[str, float] = {}
    for source, rows in verl_rows(*scores).items():
        named |= rs.rename(rs.evaluate(rows, source, prefix="val"), "verl")
    wanted = {k: v for k, v in VERL[oracle].items() if "num_turns" not in k}
    assert {k: named.get(k) for k in wanted} == {k: near(v) for k, v in wanted.items()}
    extra = set(named) - set(wanted)
    assert all("/std@1" in k for k in extra), "veRL does not write the spread of one repeat, which is 0"


def test_the_bootstrap_is_verls_draw_for_draw() -> None:
    case = VERL["bootstrap"]
    scores = np.array(case["data"], float)
    assert [drawing.best_boot(scores, 3), drawing.worst_boot(scores, 3)] == [
        near(pair) for pair in map(tuple, case["max_min"])
    ]


def test_missing_sessions_scored_zero_are_verls_expected_counts() -> None:
    """veRL 0.9 scores missing sessions 0; ours are in mean_strict@n, or rows with a 0."""
    sets = verl_rows("acc")
    sets["gsm8k"].append({"task": "gsm8k-0", "repeat": 1, "scores": {"acc": 0.0}})
    sets["aime"] += [{"task": "aime-2", "repeat": r, "scores": {"acc": 0.0}} for r in range(2)]
    for source, rows in sets.items():
        metrics = rs.evaluate(rows, source)
        for key, value in VERL["expected_acc_counts"][source]["acc"].items():
            word, at, rest = key.partition("@")
            k, _, stat = rest.partition("/")
            ours = f"{word}{'_boot' if stat else ''}{'_std' if stat == 'std' else ''}{at}{k}"
            if word != "maj":  # a session without an answer cannot vote
                assert metrics[f"eval/{source}/acc/{ours}"].value == near(value), key


def test_a_planned_repeat_without_a_row_is_zero_in_the_strict_mean_only() -> None:
    metrics = rs.evaluate(verl_rows("acc")["gsm8k"], "gsm8k", repeats={"gsm8k-0": 2, "gsm8k-1": 1})
    assert metrics["eval/gsm8k/acc/mean@2"].value == 1.0
    assert metrics["eval/gsm8k/acc/mean_strict@2"].value == near(VERL["expected_acc_counts"]["gsm8k"]["acc"]["mean@2"])
    assert metrics["eval/gsm8k/repeats_missing"].value == 1


def test_turns_of_all_validation_sets_are_one_statistic() -> None:
    a = rs.evaluate(
        [{"task": 0, "turns": 1, "scores": {"acc": 1}}, {"task": 1, "turns": 4, "scores": {"acc": 0}}],
        "a",
        prefix="val",
    )
    b = rs.evaluate(
        [{"task": 0, "turns": 3, "scores": {"acc": 1}}, {"task": 1, "turns": 2, "scores": {"acc": 0}}],
        "b",
        prefix="val",
    )
    both = {k: a[k] + b[k] for k in a if k.startswith("val-aux/num_turns")}
    assert rs.rename(both, "verl") == {
        "val-aux/num_turns/min": 1.0,
        "val-aux/num_turns/max": 4.0,
        "val-aux/num_turns/mean": 2.5,
    }


# against Trinity, and the numbers on its page


def test_trinitys_chain_with_and_without_detail() -> None:
    rows = rows_of(TRINITY["input_tasks"])
    plain, detailed = (
        rs.rename(rs.evaluate(rows, "dummy"), "trinity"),
        rs.rename(rs.evaluate(rows, "dummy", detailed=True), "trinity"),
    )
    assert {k: plain[k] for k in TRINITY["B_eval_step_default"]} == {
        k: near(v) for k, v in TRINITY["B_eval_step_default"].items()
    }
    assert {k: detailed[k] for k in TRINITY["B_eval_step_detailed"]} == {
        k: near(v) for k, v in TRINITY["B_eval_step_detailed"].items()
    }


def test_the_seeds_diagram_comes_out_and_its_spread_is_ddof_0() -> None:
    metrics = rs.evaluate(rows_of(TRINITY["input_tasks"]), "dummy", detailed=True)
    read = {
        name: round(metrics[f"eval/dummy/accuracy/{name}"].value, 3)
        for name in (
            "mean@2",
            "std@2",
            "mean@2/mean",
            "mean@2/max",
            "mean@2/min",
            "std@2/max",
            "std@2/min",
            "mean@2/std0",
            "std@2/std0",
        )
    }
    assert read == {
        "mean@2": 0.833,
        "std@2": 0.083,
        "mean@2/mean": 0.833,
        "mean@2/max": 0.9,
        "mean@2/min": 0.75,
        "std@2/max": 0.15,
        "std@2/min": 0.05,
        "mean@2/std0": 0.062,
        "std@2/std0": 0.047,
    }
    assert metrics["eval/dummy/accuracy/mean@2/std"].value == near(TRINITY["B_check_ddof"]["mean@2/std ddof1"])
    assert "ddof 0" in rs.explain("eval/dummy/accuracy/mean@2/std0").definition


def test_tasks_that_lost_runs_have_keys_of_their_own_as_in_trinity() -> None:
    rows = rows_of([[0.8, 0.9], [0.6], [0.95, 0.85]])
    named = rs.rename(rs.evaluate(rows, "dummy"), "trinity")
    assert {k: named[k] for k in TRINITY["E_ragged_runs"]} == {k: near(v) for k, v in TRINITY["E_ragged_runs"].items()}
    assert rs.evaluate(rows, "dummy")["eval/dummy/repeats_missing"].value == 1
    whole = rs.evaluate(rows, "dummy", repeats=2)
    assert whole["eval/dummy/accuracy/mean@2"].value == near((0.85 + 0.6 + 0.9) / 3)
    assert whole["eval/dummy/accuracy/mean_strict@2"].value == near((0.85 + 0.3 + 0.9) / 3)


def test_a_failed_task_is_seen_where_trinity_shows_full_marks() -> None:
    rows = [
        *rows_of([[1.0, 1.0]]),
        *({"task": "broken", "repeat": r, "failed": True, "seconds": 9.0} for r in range(2)),
    ]
    rows[0]["seconds"] = rows[1]["seconds"] = 2.0
    metrics = rs.evaluate(rows, "dummy")
    named = rs.rename(metrics, "trinity")
    assert (
        named["eval/dummy/accuracy/mean@2"]
        == TRINITY["D_failed_task_eval"]["step"]["eval/dummy/accuracy/mean@2"]
        == 1.0
    )
    assert (
        named["eval/dummy/time/run_execution"] == TRINITY["D_failed_task_eval"]["step"]["eval/dummy/time/run_execution"]
    )
    assert named["eval/dummy/finished_task_count"] == 2
    assert metrics["eval/dummy/accuracy/mean_strict@2"].value == 0.5
    assert (
        metrics["eval/dummy/failed/share"].value,
        metrics["eval/dummy/failed/tasks"].value,
        metrics["eval/dummy/tasks"].value,
    ) == (0.5, 0.5, 2)


def test_a_single_task_has_no_spread_over_tasks() -> None:
    metrics = rs.evaluate(rows_of([[1.0, 0.0]]), "dummy", detailed=True)
    assert (
        math.isnan(metrics["eval/dummy/accuracy/mean@2/std"].value)
        and metrics["eval/dummy/accuracy/mean@2/std0"].value == 0
    )
    assert math.isnan(metrics["eval/dummy/accuracy/mean@2/ci_low"].value)
    named = rs.rename(metrics, "trinity")
    wanted = {k: math.nan if v == "NaN" else v for k, v in TRINITY["F_single_task_detailed"].items()}
    assert {k: named[k] for k in wanted} == {k: near(v) for k, v in wanted.items()}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 8, 10])
def test_the_k_are_trinitys(n: int) -> None:
    named = rs.rename(rs.evaluate(rows_of([[0.5] * n]), "x"), "trinity")
    keys = {k.removeprefix("eval/x/") for k in named if "@" in k and k.count("/") == 3}
    assert keys == set(TRINITY["C_key_sets"][str(n)])


def test_the_global_random_state_does_not_change() -> None:
    np.random.seed(123)
    rs.evaluate(rows_of([[0.0, 1.0, 1.0]]), "x")
    assert np.random.rand() == TRINITY["L_rng_side_effect"]["rand after seed(123)"]


# the exact numbers


@pytest.mark.parametrize("n", [2, 3, 5, 7])
def test_best_worst_and_majority_are_the_mean_over_all_draws_without_replacement(n: int) -> None:
    random = np.random.default_rng(n)
    scores, answers = random.normal(size=n).round(2), random.integers(0, 3, n).tolist()
    for k in range(1, n + 1):
        subsets = list(itertools.combinations(range(n), k))
        assert drawing.best(scores, k) == pytest.approx(np.mean([scores[list(s)].max() for s in subsets]))
        assert drawing.worst(scores, k) == pytest.approx(np.mean([scores[list(s)].min() for s in subsets]))
        assert drawing.majority(scores, answers, k) == pytest.approx(
            np.mean([vote(scores, answers, s) for s in subsets])
        )


def vote(scores: np.ndarray, answers: list[int], drawn: tuple[int, ...]) -> float:
    """The vote by its definition: equally frequent answers share it.

    The score of an answer is the mean over all repeats that gave it.
    """
    votes = Counter(answers[i] for i in drawn)
    winners = [a for a, c in votes.items() if c == max(votes.values())]
    return float(np.mean([scores[[i for i, b in enumerate(answers) if b == a]].mean() for a in winners]))


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_best_of_binary_scores_is_the_unbiased_pass_at_k(case: tuple[int, int, int]) -> None:
    n, c, k = case
    assert drawing.best(np.array([1.0] * c + [0.0] * (n - c)), k) == pytest.approx(
        1 - math.comb(n - c, k) / math.comb(n, k)
    )


def test_large_n_does_not_overflow() -> None:
    scores = np.linspace(0, 1, 5000)
    assert drawing.best(scores, 2500) == pytest.approx(1.0, abs=1e-3) and drawing.worst(scores, 1) == pytest.approx(0.5)


def test_pass_at_k_is_written_for_scores_of_0_and_1_only() -> None:
    right = rs.evaluate(rows_of([[1, 0, 0, 0]]), "x")
    assert [right[f"eval/x/accuracy/pass@{k}"].value for k in (1, 2, 4)] == [0.25, 0.5, 1.0]
    assert right["eval/x/accuracy/best_boot@4"].value == near(TRINITY["C_n4_one_correct"]["out"]["accuracy/best@4"])
    assert not any("pass@" in key for key in rs.evaluate(rows_of([[0.3, 0.7]]), "x"))


def test_every_task_with_k_scores_is_in_best_at_k() -> None:
    metrics = rs.evaluate(rows_of([[1, 0, 0], [0, 1, 1, 1, 0]]), "x")
    assert metrics["eval/x/accuracy/best@3"].weight == 2 and metrics["eval/x/accuracy/best@4"].weight == 1
    assert metrics["eval/x/accuracy/best_boot@3"].weight == 1  # each task has its own k


def test_given_k_replace_the_usual_ones() -> None:
    metrics = rs.evaluate(rows_of([[1, 0, 0, 1, 1]]), "x", k=[3])
    assert sorted(k for k in metrics if "best@" in k) == ["eval/x/accuracy/best@3"]


def test_majority_needs_an_answer_in_every_scored_repeat() -> None:
    rows = rows_of([[1, 1, 0], [0, 1, 1]])
    for row, answer in zip(rows[:3], "AAB", strict=True):
        row["answer"] = answer
    metrics = rs.evaluate(rows, "x")
    assert metrics["eval/x/accuracy/maj@3"].value == 1.0 and metrics["eval/x/accuracy/maj@3"].weight == 1
    rows[0]["answer"] = ["not", "hashable"]
    assert rs.evaluate(rows, "x")["eval/x/accuracy/maj@3"].weight == 1


# failures, order, merging, input


def test_failed_repeats_are_outside_the_mean_and_zero_in_the_strict_one() -> None:
    rows = [*rows_of([[1.0, 0.5]]), {"task": 0, "repeat": 2, "failed": True, "scores": {"accuracy": 0.9}}]
    metrics = rs.evaluate(rows, "x")
    assert metrics["eval/x/accuracy/mean@3"].value == 0.75 and metrics["eval/x/accuracy/mean_strict@3"].value == 0.5
    assert metrics["eval/x/failed/share"].value == near(1 / 3) and metrics["eval/x/repeats_missing"].value == 0
    assert "eval/x/accuracy/best@3" not in metrics  # there are only two scores


def test_when_everything_failed_the_counts_still_say_so() -> None:
    metrics = rs.evaluate([{"task": t, "failed": True} for t in range(3)], "x")
    assert metrics["eval/x/failed/share"].value == 1.0 and metrics["eval/x/tasks"].value == 3
    assert not any("@" in key for key in metrics)


def test_no_rows_are_no_data() -> None:
    metrics = rs.evaluate([], "x")
    assert set(metrics) == {
        "eval/x/tasks",
        "eval/x/repeats",
        "eval/x/failed/share",
        "eval/x/failed/tasks",
        "eval/x/repeats_missing",
    }
    assert all(math.isnan(m.value) and m.weight == 0 for m in metrics.values())


def test_a_score_only_some_tasks_have_is_about_those_tasks() -> None:
    rows = rows_of([[1.0], [0.0]])
    rows[0]["scores"]["format"] = 1.0
    rows[1]["scores"]["format"] = None
    assert rs.evaluate(rows, "x")["eval/x/format/mean@1"].weight == 1


def test_a_nan_score_is_kept() -> None:
    metrics = rs.evaluate(rows_of([[math.nan, 1.0], [1.0, 1.0]]), "x")
    assert all(math.isnan(metrics[f"eval/x/accuracy/{key}"].value) for key in ("mean@2", "std@2", "best@2", "worst@2"))


@pytest.mark.parametrize(
    ("row", "says"),
    [
        pytest.param({"scores": {"a": 1}}, "expected a mapping with a 'task'", id="no task"),
        pytest.param({"task": 1, "scores": {"a": "yes"}}, "expected a number", id="text for a score"),
        pytest.param({"task": 1, "scores": [1.0]}, "expected name -> number", id="scores are a list"),
        pytest.param("gsm8k-1", "expected a mapping with a 'task'", id="not a row"),
    ],
)
def test_an_error_names_the_wrong_row(row: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says) as error:
        rs.evaluate([{"task": 0, "scores": {"a": 1.0}}, row], "x")
    assert "row 1" in str(error.value)


def test_rows_may_be_short_or_long() -> None:
    rows = [
        {"task": ["a", 1], "score": True, "turns": [{}, {}], "stop_reason": ["stop", "length"]},
        {"task": ["a", 1], "score": np.float32(0.0), "repeat": "second"},
    ]
    metrics = rs.evaluate(rows, "x")
    assert (
        metrics["eval/x/score/mean@2"].value == 0.5
        and metrics["eval/x/turns/mean"].value == 2
        and metrics["eval/x/truncated"].value == 1.0
    )


runs = st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=5)


@settings(max_examples=20, deadline=None)
@given(st.lists(runs, min_size=2, max_size=6), st.randoms(use_true_random=False), st.booleans())
def test_parts_of_whole_tasks_merge_to_the_whole_in_any_order(
    tasks: list[list[float]], random: Any, detailed: bool
) -> None:
    rows = rows_of(tasks)
    ask = {"name": "x", "detailed": detailed, "k": [2, 3]}
    whole = rs.evaluate(rows, **ask)
    cut = random.randrange(1, len(tasks))
    random.shuffle(rows)
    parts = [rs.evaluate([row for row in rows if (row["task"] < cut) == side], **ask) for side in (True, False)]
    for key, partial in whole.items():
        having = [part[key] for part in parts if key in part]
        merged = having[0] if len(having) == 1 else having[0] + having[1]
        if "pass@" not in key:  # written only if all scores of the part are 0 or 1
            assert merged.value == pytest.approx(partial.value, nan_ok=True), key
            assert sum(having[-2::-1], start=having[-1]).value == pytest.approx(partial.value, nan_ok=True), key
    for key, partial in whole.items():
        assert from_state(partial.kind, partial.state()).value == pytest.approx(partial.value, nan_ok=True), key


def test_the_interval_covers_the_mean_and_does_not_change_between_calls() -> None:
    random = np.random.default_rng(0)
    rows = rows_of((random.random((200, 4)) < 0.6).astype(float))
    metrics = rs.evaluate(rows, "x")
    low, mean, high = (metrics[f"eval/x/accuracy/mean@4{end}"].value for end in ("/ci_low", "", "/ci_high"))
    error = np.std(
        [np.mean([r["scores"]["accuracy"] for r in rows if r["task"] == t]) for t in range(200)]
    ) / math.sqrt(200)
    assert low == pytest.approx(mean - 1.96 * error, abs=0.3 * error) and high == pytest.approx(
        mean + 1.96 * error, abs=0.3 * error
    )
    assert (low, high) == tuple(
        rs.evaluate(rows[::-1], "x")[f"eval/x/accuracy/mean@4{end}"].value for end in ("/ci_low", "/ci_high")
    )


@pytest.mark.parametrize("prefix", ["eval", "bench", "my/suite"])
def test_a_prefix_is_where_everything_goes(prefix: str) -> None:
    assert all(key.startswith(f"{prefix}/x/") for key in rs.evaluate(rows_of([[1, 0]]), "x", prefix=prefix))


def test_every_key_that_is_written_has_an_entry() -> None:
    rows = [
        {**row, "answer": 1, "turns": 2, "tokens": 10, "seconds": 1.0, "stop_reason": "length"}
        for row in rows_of([[1, 0, 1], [0, 1, 1]], "acc")
    ]
    for prefix in ("eval", "bench", "val"):
        for key in rs.evaluate(rows, "a/b", prefix=prefix, detailed=True):
            assert rs.explain(key).producer == "evaluate", key


def test_several_rows_of_one_repeat_are_one_repeat() -> None:
    rows = [
        {"task": "a", "repeat": 0, "scores": {"accuracy": 1.0}, "seconds": 4.0, "stop_reason": "length"},
        {"task": "a", "repeat": 0, "scores": {"accuracy": 0.0}, "seconds": 4.0, "stop_reason": "stop"},
        {"task": "a", "repeat": 1, "scores": {"accuracy": 1.0}, "seconds": 1.0, "stop_reason": "stop"},
    ]
    metrics = rs.evaluate(rows, "set")
    assert metrics["eval/set/accuracy/mean@2"].value == 0.75 and "eval/set/accuracy/mean@3" not in metrics
    assert metrics["eval/set/repeats"].value == 2 and metrics["eval/set/seconds/mean"].value == 2.5
    assert metrics["eval/set/truncated"].value == 0.5, "a repeat is cut if one of its rows is"


def test_a_repeat_that_was_tried_again_did_not_fail() -> None:
    rows = [
        {"task": "a", "repeat": 0, "failed": True},
        {"task": "a", "repeat": 0, "scores": {"accuracy": 1.0}},
        {"task": "a", "repeat": 1, "failed": True},
    ]
    metrics = rs.evaluate(rows, "set")
    assert metrics["eval/set/failed/share"].value == 0.5 and metrics["eval/set/accuracy/mean_strict@2"].value == 0.5
