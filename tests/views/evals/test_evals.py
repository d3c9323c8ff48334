"""Evaluation rows as tasks by steps: means, failures, intervals, and two evaluations paired."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import BadInput
from rollscope.statistics import interval
from rollscope.statistics.exact import mcnemar
from rollscope.views.evals.gate import Evaluated, verdicts
from rollscope.views.evals.history import history, pass_at_k
from rollscope.views.evals.overlap import Prompts, overlap
from rollscope.views.evals.pairing import Side, pair
from rollscope.views.evals.sets import EvalSet, sets
from rollscope.views.evals.task_scores import task_scores

Rows = list[dict[str, Any]]


def recorded(folder: Path, evaluations: dict[tuple[str, int], Rows], id: str = "a") -> Any:
    run = rs.init(id=id, dir=str(folder), host=False)
    for (name, step), rows in evaluations.items():
        run.log_eval(name, rows, step=step)
    run.finish()
    return rs.open(folder).run(id)


def rows_of(*scores: list[float], **more: Any) -> Rows:
    """A list of repeats per task."""
    return [
        {"task": f"t{task}", "repeat": repeat, "scores": {"acc": value}, **more}
        for task, values in enumerate(scores)
        for repeat, value in enumerate(values)
    ]


def one(folder: Path, evaluations: dict[tuple[str, int], Rows]) -> EvalSet:
    return sets(recorded(folder, evaluations))["math"]


def test_a_task_is_averaged_first_and_failures_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = rows_of([1, 1, 1], [0])
    rows.append({"task": "t1", "repeat": 1, "failed": True})
    rows.append({"task": "t2", "repeat": 0, "failed": True, "scores": {"acc": 1.0}})
    scores = task_scores(one(tmp_path, {("math", 5): rows}))
    assert scores.mean[:, 0].tolist()[:2] == [1.0, 0.0] and math.isnan(scores.mean[2, 0])
    assert scores.repeats[:, 0].tolist() == [3, 1, 0] and scores.failed[:, 0].tolist() == [0, 1, 1]
    past = history(scores)
    assert (past.mean[0], past.tasks[0], past.failed[0], past.best) == (0.5, 2, 1, 5)


def test_rows_of_one_repeat_are_one_repeat(tmp_path: Path) -> None:
    rows = [*rows_of([1, 0]), {"task": "t0", "repeat": 1, "scores": {"acc": 1.0}}]
    scores = task_scores(one(tmp_path, {("math", 0): rows}))
    assert scores.mean.tolist() == [[0.75]] and scores.repeats.tolist() == [[2]]


def test_rows_without_a_repeat_are_repeats_of_their_own(tmp_path: Path) -> None:
    rows = [{"task": 7, "score": value} for value in (1, 0, 0)]
    evals = one(tmp_path, {("math", 0): rows})
    assert evals.tasks == ("7",) and task_scores(evals).repeats.tolist() == [[3]]


def test_a_history_has_the_interval_by_task_and_what_the_set_can_show(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    evals = one(tmp_path, {("math", step): rows_of(*random.integers(0, 2, (40, 4)).tolist()) for step in (0, 10)})
    past = history(task_scores(evals))
    column = task_scores(evals).mean[:, 1]
    assert (past.low[1], past.high[1]) == pytest.approx(interval.mean(column).interval())
    gaps = column - task_scores(evals).mean[:, 0]
    assert 2.5 < past.detectable / (gaps.std(ddof=1) / math.sqrt(40)) < 3.1


def test_clusters_widen_the_interval(tmp_path: Path) -> None:
    rows = [{"task": i, "scores": {"acc": float(i // 10 % 2)}, "cluster": f"book {i // 10}"} for i in range(60)]
    alone = [{key: value for key, value in row.items() if key != "cluster"} for row in rows]
    wide, narrow = (
        history(task_scores(one(tmp_path / word, {("math", 0): r}))) for word, r in (("a", rows), ("b", alone))
    )
    assert wide.high[0] - wide.low[0] > 2.5 * (narrow.high[0] - narrow.low[0])


def test_pass_at_k_is_unbiased_and_only_for_right_and_wrong(tmp_path: Path) -> None:
    evals = one(tmp_path, {("math", 0): rows_of([1, 0, 0, 0], [1, 1, 0, 0])})
    assert pass_at_k(task_scores(evals), 0) == pytest.approx({1: 0.375, 2: (0.5 + 5 / 6) / 2, 3: 0.875, 4: 1.0})
    assert pass_at_k(task_scores(evals), 1) == {}
    half = one(tmp_path / "half", {("math", 0): rows_of([0.5, 1])})
    assert pass_at_k(task_scores(half), 0) == {}


def test_tags_are_kept(tmp_path: Path) -> None:
    evals = one(tmp_path, {("math", 0): [*rows_of([1], tags=["geometry", "long"]), {"task": "u", "tags": "one"}]})
    assert evals.tags == (("geometry", "long"), ("one",)) and evals.clusters is None


def test_two_evaluations_are_paired_by_task(tmp_path: Path) -> None:
    before, after = [1, 1, 0, 0, 0, 1], [1, 0, 1, 1, 0, 1]
    evals = one(tmp_path, {("math", 0): rows_of(*[[x] for x in before]), ("math", 9): rows_of(*[[x] for x in after])})
    scores = task_scores(evals)
    pairing = pair(Side(scores, 0), Side(scores, 9))
    assert pairing.result.difference == pytest.approx(1 / 6) and pairing.result.p == pytest.approx(mcnemar(2, 1))
    assert pairing.kinds == {
        "right": ("t0", "t5"),
        "learnt": ("t2", "t3"),
        "lost": ("t1",),
        "wrong_otherwise": (),
        "wrong_alike": ("t4",),
        "failed": (),
    }


def test_a_wrong_answer_may_be_wrong_in_another_way(tmp_path: Path) -> None:
    answers = {("math", 0): ["7", "8"], ("math", 1): ["9", "8"]}
    rows = {
        key: [{"task": f"t{i}", "scores": {"acc": 0}, "answer": word} for i, word in enumerate(words)]
        for key, words in answers.items()
    }
    scores = task_scores(one(tmp_path, rows))
    kinds = pair(Side(scores, 0), Side(scores, 1)).kinds
    assert kinds["wrong_otherwise"] == ("t0",) and kinds["wrong_alike"] == ("t1",)


def test_tasks_that_failed_are_named_and_in_no_mean(tmp_path: Path) -> None:
    failed = [{"task": "t2", "repeat": 0, "failed": True}]
    rows = {("math", 0): rows_of([1], [0], [1]), ("math", 1): [*rows_of([1], [1]), *failed]}
    scores = task_scores(one(tmp_path, rows))
    pairing = pair(Side(scores, 0), Side(scores, 1))
    assert pairing.kinds["failed"] == ("t2",) and pairing.result.n == 2 and pairing.result.difference == 0.5


def test_scores_without_a_scale_rise_and_fall(tmp_path: Path) -> None:
    rows = {("math", 0): rows_of([10.0], [20], [5]), ("math", 1): rows_of([30.0], [2], [5])}
    scores = task_scores(one(tmp_path, rows))
    kinds = pair(Side(scores, 0), Side(scores, 1)).kinds
    assert (kinds["learnt"], kinds["lost"], kinds["wrong_alike"]) == (("t0",), ("t1",), ("t2",))


def test_a_step_without_an_evaluation_gets_a_sentence(tmp_path: Path) -> None:
    scores = task_scores(one(tmp_path, {("math", 3): rows_of([1])}))
    with pytest.raises(BadInput, match="not evaluated at step 4; it was at 3"):
        pair(Side(scores, 3), Side(scores, 4))
    with pytest.raises(BadInput, match="no score 'f1': it has acc"):
        task_scores(scores.set, "f1")


# The gate


def worse_and_same(folder: Path) -> None:
    random = np.random.default_rng(1)
    good = (random.random(200) < 0.8).astype(float)
    bad = np.where(random.random(200) < 0.3, 0.0, good)
    same = np.where(random.random(200) < 0.02, 1 - good, good)
    for id, scores in (("before", good), ("worse", bad), ("same", same)):
        recorded(folder, {("math", 9): rows_of(*scores[:, None].tolist())}, id)


@pytest.mark.parametrize(("run", "code"), [("worse", 1), ("same", 0)])
def test_a_regression_is_an_exit_code(tmp_path: Path, capsys: Any, run: str, code: int) -> None:
    worse_and_same(tmp_path)
    gate = ["evals", run, "--against", "before", "--dir", str(tmp_path)]
    assert main([*gate, "--fail-on", "regression", "--json"]) == code
    found = json.loads(capsys.readouterr().out)["sets"]["math"]
    assert {"difference", "low", "high", "p", "n", "learnt", "lost"} <= found.keys() and found["n"] == 200
    assert found["low"] <= found["difference"] <= found["high"] and found["regression"] == bool(code)
    assert main(gate) == 0, "without --fail-on it only tells"
    assert main([*gate, "--fail-on", "regression", "--margin", "0.5"]) == 0


@pytest.mark.parametrize(
    ("margin", "equal", "says"),
    [("0.1", True, "equal within the margin"), ("0.001", False, "no difference beyond noise"), ("0", False, "no ")],
)
def test_equal_within_a_margin_is_shown_and_not_presumed(
    tmp_path: Path, capsys: Any, margin: str, equal: bool, says: str
) -> None:
    worse_and_same(tmp_path)
    gate = ["evals", "same", "--against", "before", "--margin", margin, "--dir", str(tmp_path)]
    assert main([*gate, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["sets"]["math"]
    assert found["equivalent"] is equal and found["says"].startswith(says)
    assert (found["p_equivalent"] in (None, "NaN")) == (margin == "0")
    assert main([*gate, "--markdown"]) == 0
    assert ("p within" in capsys.readouterr().out) == (margin != "0")


def test_a_certain_fall_that_may_be_within_the_margin_is_not_said_to_be(tmp_path: Path) -> None:
    lost = [[0.0]] * 8 + [[1.0]] * 192  # a fall of 0.04, with an interval of 0.013 to 0.067
    before = recorded(tmp_path, {("math", 0): rows_of(*[[1.0]] * 200)}, "before")
    after = recorded(tmp_path, {("math", 0): rows_of(*lost)}, "after")
    said = [verdicts(Evaluated(before), Evaluated(after), margin)[0].says for margin in (0.0, 0.05, 0.1)]
    assert said == ["worse", "lower, not surely by more than the margin", "lower, within the margin"]


def test_a_markdown_table_survives_any_name(tmp_path: Path, capsys: Any) -> None:
    rows = rows_of([1], [0], [1])
    recorded(tmp_path, {("a|b`<i>\n", 0): rows, ("a|b`<i>\n", 1): rows})
    assert main(["evals", "a", "--at", "1", "--against-at", "0", "--markdown", "--dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[2].startswith("| a\\|b\\`&lt;i>") and "no difference" in lines[2]
    assert all(line.replace("\\|", "").count("|") == 10 for line in lines)


NAN = {"task": "t0", "scores": {"acc": math.nan}}
OTHER_TASKS = [{"task": f"u{i}", "scores": {"acc": 1.0}} for i in range(3)]
FAILED = [{"task": f"t{i}", "failed": True} for i in range(2)]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({("math", 0): rows_of([1], [1])}, {("code", 0): rows_of([1])}, "no evaluation set in common"),
        ({("math", 0): rows_of([1], [1])}, {}, "has no evaluation"),
        ({("math", 0): rows_of([1], [1])}, {("math", 0): [{"task": "x", "score": 1}]}, "no score in common"),
        ({("math", 0): rows_of([1])}, {("math", 0): rows_of([1])}, "1 tasks with a score 'acc' in both"),
        (
            {("math", 0): rows_of([1], [1])},
            {("math", 0): [*rows_of([1], [1]), *rows_of([1])]},
            "repeat 0 more than once",
        ),
        ({("math", 0): rows_of([1], [1])}, {("math", 0): [NAN, *rows_of([1], [1])]}, "NaN or infinite"),
        ({("math", 0): rows_of([1], [1])}, {("math", 0): OTHER_TASKS}, "0 tasks with a score 'acc' in both"),
        ({("math", 0): rows_of([1], [1])}, {("math", 0): FAILED}, "no score in common"),
        ({("math", 0): rows_of([0.5], [1])}, {("math", 0): rows_of([50], [100])}, "seems to be in per cent"),
    ],
    ids=[
        *("other sets", "no evaluation", "other score", "one task", "doubles", "NaN"),
        *("other tasks", "all failed", "per cent"),
    ],
)
def test_a_gate_without_sound_data_exits_2(tmp_path: Path, capsys: Any, before: Any, after: Any, says: str) -> None:
    recorded(tmp_path, before, "before")
    recorded(tmp_path, after, "after")
    command = ["evals", "after", "--against", "before", "--fail-on", "regression", "--dir", str(tmp_path)]
    assert main(command) == 2
    assert says in capsys.readouterr().err


def test_a_gate_against_itself_exits_2(tmp_path: Path, capsys: Any) -> None:
    recorded(tmp_path, {("math", 0): rows_of([1], [1])})
    assert main(["evals", "a", "--against", "a", "--fail-on", "regression", "--dir", str(tmp_path)]) == 2
    assert "compared with itself" in capsys.readouterr().err


def test_a_gate_says_which_sets_and_tasks_it_could_not_compare(tmp_path: Path, capsys: Any) -> None:
    tasks = rows_of(*[[1]] * 9)
    recorded(tmp_path, {("math", 0): tasks, ("old name", 0): tasks}, "before")
    recorded(tmp_path, {("math", 0): tasks[2:] + OTHER_TASKS, ("new name", 0): tasks}, "after")
    gate = ["evals", "after", "--against", "before", "--dir", str(tmp_path)]
    assert main([*gate, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["left_out"] == ["old name (only before)", "new name (only after)"]
    assert [said["sets"]["math"][key] for key in ("n", "only_before", "only_after")] == [7, 2, 3]
    assert main(gate) == 0
    text = capsys.readouterr().out
    assert "Not compared: old name (only before), new name (only after)." in text
    assert "2 tried before only, 3 tried after only" in text


def test_unequal_repeats_are_compared_by_the_mean_of_each_task(tmp_path: Path) -> None:
    before = recorded(tmp_path, {("math", 0): rows_of([1], [0], [1], [0])}, "before")
    after = recorded(tmp_path, {("math", 0): rows_of([1, 0], [0, 1, 1], [1], [1, 1, 0, 0])}, "after")
    (found,) = verdicts(Evaluated(before), Evaluated(after))
    assert found.pairing.result.method == "permutation"
    assert found.pairing.result.difference == pytest.approx((-0.5 + 2 / 3 + 0 + 0.5) / 4)


def test_several_sets_share_one_chance_of_a_false_alarm(tmp_path: Path) -> None:
    """Each of 4 sets has p .031 alone; after Holm's correction none is a regression."""
    lost = [[0.0]] * 6 + [[1.0]] * 20
    sets_of = {f"s{i}": rows_of(*lost) for i in range(4)}
    before = recorded(tmp_path, {(name, 0): rows_of(*[[1.0]] * 26) for name in sets_of}, "before")
    after = recorded(tmp_path, {(name, 0): rows for name, rows in sets_of.items()}, "after")
    alone = verdicts(Evaluated(before), Evaluated(after), names=["s0"])
    assert alone[0].is_regression and alone[0].p == pytest.approx(2 * 0.5**6)
    assert not any(verdict.is_regression for verdict in verdicts(Evaluated(before), Evaluated(after)))


def test_a_run_lists_its_evaluations(tmp_path: Path, capsys: Any) -> None:
    recorded(tmp_path, {("math", 0): rows_of([1], [0]), ("math", 5): rows_of([1], [1])})
    assert main(["evals", "a", "--dir", str(tmp_path)]) == 0
    assert "math" in (text := capsys.readouterr().out) and "acc" in text
    assert main(["evals", "a", "--dir", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["math"]["mean"] == [0.5, 1.0]


# Overlap with training


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Mara picks 48 apples and gives 6 to her neighbour. How many are left?", "exact"),
        ("mara picks  48 apples and gives 6 to her neighbour. how many are left?\n", "exact"),
        ("Mara picks 48 apples and gives 6 to her neighbour. How many are left over?", "near"),
        ("Mara picks 50 apples and gives 7 to her neighbour. How many are left?", ""),
        ("A train leaves Lund at 9:40.", ""),
        ("", ""),
    ],
    ids=["same", "spaces and case", "one word more", "other numbers", "other text", "no text"],
)
def test_a_prompt_is_found_among_those_of_training(text: str, kind: str) -> None:
    known = Prompts(["Mara picks 48 apples and gives 6 to her neighbour. How many are left?", "What is 2 + 2?"])
    found = known.find(text)
    assert (found.kind if found else "") == kind


def test_tasks_whose_prompts_were_trained_on_are_named(tmp_path: Path) -> None:
    with rs.init(id="a", dir=tmp_path, host=False) as run:
        for step in range(3):
            rows = [{"id": f"{step}.{i}", "prompt": f"Sum {i} and {i + 1}, please.", "reward": 1} for i in range(4)]
            run.log_samples(step=step, samples=rows)
        asked = {"seen": "sum 2 and 3, please.", "unseen": "Sum 9 and 10, please.", "silent": None}
        results = [
            {"task": task, "score": 1, **({"sample": {"prompt": text, "completion": "."}} if text else {})}
            for task, text in asked.items()
        ]
        run.log_eval("math", results, step=2)
    reader = rs.open(tmp_path).run("a")
    found = overlap(reader, sets(reader)["math"])
    assert (found.exact, found.near, found.prompts) == (("seen",), (), 4)
    assert {task: (one.sample, one.step) for task, one in found.samples.items()} == {"seen": ("0.2", 0)}
