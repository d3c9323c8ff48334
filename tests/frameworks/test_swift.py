"""ms-swift with a tiny random model on the CPU: Rollscope stores what its trainers log, key by key.

Needs `.venvs/swift-live`, which `run_all.py` creates: `make test-frameworks-all`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.sources.live.text import letters as byte_of_letter
from rollscope.store import store as rs  # the stored series, without derived ones
from tests.recorded import LIVE, held, recorded

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".venvs" / "swift-live" / "bin" / "python"
KINDS = ("grpo", "split", "tools", "dynamic", "reward_kl", "sft")
FAULTS = ("setup", "before", "after", "run", "disk", "fields")  # of faults.py
RANKS = ("-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2")
Sample = dict[str, Any]

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS_ALL" not in os.environ, reason="run by: make test-frameworks-all"),
]


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every kind, run once, each in a process of its own."""
    root = tmp_path_factory.mktemp("swift")
    return {kind: ran(root / kind, kind) for kind in KINDS}


def ran(out: Path, kind: str, *launcher: str) -> Path:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [PYTHON, *launcher, HERE / "swift_run.py", kind, out]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{kind}: {done.stderr[-3000:]}"
    assert "rollscope:" not in done.stderr, done.stderr[-3000:]
    return out


def logged(out: Path) -> dict[str, dict[int, float]]:
    """The trainer's own log by name and step; the last value of a step wins."""
    values: dict[str, dict[int, float]] = {}
    for entry in json.loads((out / "log_history.json").read_text()):
        for name, value in entry.items():
            if name != "step" and value is not None:
                values.setdefault(name, {})[entry["step"]] = float(value)
    return values


def opened(out: Path) -> Any:
    return rs.open(out / "runs").run()


def samples(run: Any, split: str = "train") -> dict[int, list[Sample]]:
    """The samples by step, in the order of their ids."""
    rows = run.samples()
    found: dict[int, list[Sample]] = {}
    for values in zip(*rows.values(), strict=True):
        one = dict(zip(rows, values, strict=True))
        if one["split"] == split:
            found.setdefault(int(one["step"]), []).append(one)
    return {step: sorted(ones, key=lambda one: one["id"]) for step, ones in sorted(found.items())}


def mean(ones: list[Sample], name: str) -> float:
    return float(np.mean([one[name] for one in ones]))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_stored_is_what_the_trainer_logged(kind: str, outputs: dict[str, Path]) -> None:
    stored_is_logged(outputs[kind])


def stored_is_logged(out: Path) -> None:
    run, expected = opened(out), logged(out)
    assert len(expected) > 8 and len(rs.open(out / "runs").runs()) == 1
    for name, values in expected.items():
        series = run.series(name)
        stored = dict(zip(series["step"].tolist(), series["value"].tolist(), strict=True))
        assert stored == pytest.approx(values, rel=0, abs=0, nan_ok=True), name
    assert set(run.metrics()["name"]) == set(expected)


def test_the_run_has_trainer_version_name_and_state(outputs: dict[str, Path]) -> None:
    for kind, dialect in (("grpo", "swift:grpo@4.6.0"), ("sft", "swift@4.6.0")):
        record = opened(outputs[kind]).record()
        assert (record["framework"], record["state"], record["name"]) == (dialect, "finished", f"{kind}/out")


@pytest.mark.parametrize("kind", ["grpo", "split", "tools", "reward_kl"])
def test_samples_recompute_the_trainers_rewards_lengths_and_entropy(kind: str, outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs[kind]), logged(outputs[kind])
    by_step = samples(run)
    drawn = [step for step, ones in by_step.items() if ones]
    assert len(drawn) == (4 if kind == "split" else len(expected["reward"]))  # two updates of a batch have one
    for step in drawn:
        ones = by_step[step]
        assert len(ones) == 8 and len({one["group"] for one in ones}) == 2
        assert mean(ones, "reward") == pytest.approx(expected["reward"][step], rel=1e-5)
        for function in ("Digit", "Brevity"):
            scores = [one["rewards"][function] for one in ones if function in one["rewards"]]
            assert np.mean(scores) == pytest.approx(expected[f"rewards/{function}/mean"][step], rel=1e-5)
        lengths = [one["completion_tokens"] for one in ones]
        theirs = [expected[f"completions/{stat}_length"][step] for stat in ("mean", "min", "max")]
        assert [np.mean(lengths), min(lengths), max(lengths)] == theirs
        cut_off = [one["stop_reason"] == "length" for one in ones]
        assert np.mean(cut_off) == expected["completions/clipped_ratio"][step]
        own = [np.asarray(one["entropy"], float)[wrote(one)].mean() for one in ones]
        assert np.mean(own) == pytest.approx(expected["entropy/mean"][step], rel=1e-4)


def wrote(one: Sample) -> Any:
    """Which tokens of a response the policy wrote."""
    mask = one["action_mask"]
    return np.ones(len(one["token_ids"]), bool) if mask is None else np.asarray(mask, bool)


@pytest.mark.parametrize("kind", ["grpo", "split", "tools", "reward_kl"])
def test_groups_are_a_prompt_each_and_advantages_are_of_the_group(kind: str, outputs: dict[str, Path]) -> None:
    for ones in samples(opened(outputs[kind])).values():
        for group in {one["group"] for one in ones}:
            own = [one for one in ones if one["group"] == group]
            assert len({one["prompt"] for one in own}) == 1 and sorted(one["repeat"] for one in own) == [0, 1, 2, 3]
            rewards = np.array([one["reward"] for one in own])
            theirs = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-4)
            assert [one["advantage"] for one in own] == pytest.approx(theirs, abs=2e-3)


@pytest.mark.parametrize("kind", ["grpo", "split", "tools"])
def test_tokens_spell_the_text_and_all_log_probabilities_are_theirs(kind: str, outputs: dict[str, Path]) -> None:
    spell = json.loads((outputs[kind] / "model" / "tokenizer.json").read_text())["model"]["vocab"]
    letters = {id: letter for letter, id in spell.items()}
    for ones in samples(opened(outputs[kind])).values():
        for one in ones:
            ids = one["token_ids"]
            assert len(ids) == one["response_tokens"]
            for name in ("logp", "old_logp", "ref_logp", "entropy"):
                assert len(one[name]) == len(ids), name
            if kind != "tools":
                ends = ids[-1] in (spell["<|im_end|>"], spell["<|endoftext|>"])
                assert text_of(ids[:-1] if ends else ids, letters) == one["completion"]
            logp, old = (np.asarray(one[name])[wrote(one)] for name in ("logp", "old_logp"))
            assert logp == pytest.approx(old, abs=1e-5)  # of two updates, those of the first one


def text_of(ids: list[int], letters: dict[int, str]) -> str:
    table = byte_of_letter()
    return b"".join(bytes(table[letter] for letter in letters[id]) for id in ids).decode("utf-8", "replace")


def test_what_the_dump_of_ms_swift_holds_is_what_is_stored(outputs: dict[str, Path]) -> None:
    by_step = samples(opened(outputs["grpo"]))
    for line in (outputs["grpo"] / "out" / "completions.jsonl").read_text().splitlines():
        row = json.loads(line)
        step = int(row["step"][0])
        ones = {one["completion"]: one for one in by_step.get(step, [])}
        for i, completion in enumerate(row["completion"]):
            if completion in ones and row["prompt"][i].endswith("assistant\n"):
                one = ones.pop(completion)
                assert one["prompt"].splitlines()[-1] in row["prompt"][i]
                assert one["advantage"] == pytest.approx(row["advantages"][i])
                assert one["rewards"]["Digit"] == pytest.approx(row["Digit"][i])
        assert not ones or len(ones) == len(by_step[step])  # a line of an evaluation has none of them


def test_an_answer_in_the_history_is_of_the_prompt(outputs: dict[str, Path]) -> None:
    found = [one for ones in samples(opened(outputs["grpo"])).values() for one in ones]
    told = [one for one in found if one["prompt"].startswith("Hello.\nGood day.\n")]
    assert 0 < len(told) < len(found)
    assert all("Good day." not in one["completion"] and one["turns"] == 1 for one in found)
    assert {len(one["messages"]) for one in told} == {4} and all(one["answer"] for one in found)


def test_evaluations_are_apart(outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs["grpo"]), logged(outputs["grpo"])
    by_step = samples(run, "eval")
    assert sorted(by_step) == sorted(expected["eval_reward"]) == [2, 4]
    for step, ones in by_step.items():
        assert mean(ones, "reward") == pytest.approx(expected["eval_reward"][step], rel=1e-4)
        assert {one["policy_version_max"] for one in ones} == {step}


def test_two_updates_of_a_batch_know_the_weights_that_wrote_it(outputs: dict[str, Path]) -> None:
    by_step = samples(opened(outputs["split"]))
    for step, ones in by_step.items():
        assert {(one["policy_version_min"], one["off_policy_steps"]) for one in ones} == {(step - 1, 0)}
        cut_off = [one["stop_reason"] == "length" for one in ones]
        assert [one["trained"] for one in ones] == [not one for one in cut_off]
        assert {one["discard_reason"] for one in ones} <= {None, "truncated"}


def test_turns_and_calls_of_tools_are_there(outputs: dict[str, Path]) -> None:
    run = opened(outputs["tools"])
    for ones in samples(run).values():
        for one in ones:
            assert (one["turns"], one["tool_calls"]) == (2, 1)
            assert not wrote(one).all() and wrote(one).sum() == one["completion_tokens"]
    turns = run.sql("select role, tool, arguments, result, tokens from turns where sample = '1.0' order by turn")
    assert [*turns["role"]] == ["assistant", "tool", "assistant"]
    assert (turns["tool"][1], turns["arguments"][1], turns["result"][1]) == ("sum", '{"a": 2}', "4")
    assert turns["tokens"][0] > 0 and turns["tokens"][2] > 0


def test_groups_that_dynamic_sampling_throws_away_are_kept_with_the_reason(outputs: dict[str, Path]) -> None:
    run, expected = opened(outputs["dynamic"]), logged(outputs["dynamic"])
    for step, ones in samples(run).items():
        trained = [one for one in ones if one["trained"]]
        thrown = [one for one in ones if not one["trained"]]
        assert len(trained) == 8 and mean(trained, "reward") == pytest.approx(expected["reward"][step], rel=1e-5)
        assert {one["discard_reason"] for one in thrown} <= {"dynamic sampling"} and len(thrown) % 4 == 0
    assert any(not one["trained"] for ones in samples(run).values() for one in ones)


def test_the_divergence_in_the_reward_is_told_apart(outputs: dict[str, Path]) -> None:
    ones = [one for several in samples(opened(outputs["reward_kl"])).values() for one in several]
    assert all(one["score"] == pytest.approx(total(one["rewards"])) for one in ones)
    assert any(abs(one["reward"] - one["score"]) > 1e-3 for one in ones)


def total(rewards: dict[str, float]) -> float:
    return rewards["Digit"] + 0.5 * rewards.get("Brevity", 0.0)


def test_parts_of_a_step_are_spans(outputs: dict[str, Path]) -> None:
    spans = opened(outputs["grpo"]).sql("select name, count(*) as n from spans group by name")
    counts = dict(zip(spans["name"], spans["n"].tolist(), strict=True))
    assert {"generate", "reward", "recompute_logp", "optimizer", "step", "evaluate"} <= counts.keys()
    assert counts["step"] == counts["optimizer"] == 4 and counts["generate"] == counts["reward"] > 4


def test_everything_of_the_table_is_recorded(outputs: dict[str, Path]) -> None:
    found = set[str]().union(*(recorded(opened(out)) for out in outputs.values()))
    assert found == held("swift", LIVE)


def test_two_ranks_are_one_run(tmp_path: Path) -> None:
    out = ran(tmp_path / "ranks", "ranks", *RANKS)
    stored_is_logged(out)
    expected = logged(out)
    for step, ones in samples(opened(out)).items():
        assert len({one["id"] for one in ones}) == len(ones) == 16 and len({one["group"] for one in ones}) == 4
        assert mean(ones, "reward") == pytest.approx(expected["reward"][step], rel=1e-5)
        assert all(len(one["logp"]) == len(one["token_ids"]) for one in ones)


def test_no_fault_of_ours_reaches_the_trainer(tmp_path: Path) -> None:
    """Trainings in which our code failed have the numbers of one in which it did not."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [PYTHON, HERE / "swift_faults_run.py", tmp_path, *FAULTS]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (
        done.stderr.count("a bug of ours") >= 5 and "No space left" in done.stderr and "'completion" not in done.stderr
    )
    plain = logged(tmp_path)
    assert sum(map(len, samples(opened(tmp_path)).values())) == 32
    for fault in FAULTS:
        values = logged(tmp_path / fault)
        assert values.keys() == plain.keys() and max(values["loss"]) == 8
        same = ("loss", "reward", "kl", "entropy/mean", "grad_norm", "completions/mean_length")
        assert all(values[name] == plain[name] for name in same), fault
