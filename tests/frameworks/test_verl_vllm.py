"""veRL as a user starts it, with Ray and vLLM on the CPU: recorded is what each of them said."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rollscope.store import store as rs  # the stored series, without derived ones
from tests.frameworks.test_verl_rollouts import HERE, LOGPS, ROOT, STEPS, _json, logged, samples, stored_is_logged

PYTHON = ROOT / ".venvs" / "vllm" / "bin" / "python"
SAMPLES, VALIDATED, LATE_STEPS = 16, 12, 5  # of verl_vllm_run.py: of a step, of a validation; of its second mode
TOLD = 21  # tokens of what the tool says, with the words around it
CALLED = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>\ntool\n5\nassistant\n'
WAITS = {  # a call of the actor's worker -> the stage in which the trainer waits for it
    "compute_log_prob": "old_log_prob",
    "compute_ref_log_prob": "ref",
    "update_actor": "update_actor",
    "update_weights": "update_weights",
}
SLACK = 100_000_000  # ns: a busy machine, and Ray notes the end of a call when the caller may have its result already
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
    pytest.mark.skipif(not PYTHON.exists(), reason="vLLM's CPU build takes no other build of torch than the CPU's"),
]


def trained(factory: pytest.TempPathFactory, mode: str) -> Path:
    folder = factory.mktemp("verl")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    words = [PYTHON, HERE / "verl_vllm_run.py", folder, mode]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    assert "rollscope:" not in done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory, "sync")


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def updates(out: Path) -> list[dict[str, Any]]:
    """What TransferQueue held of each sample when the weights were updated, and its step."""
    found = []
    for file in sorted((out / "held").iterdir()):
        held = json.loads(file.read_text())
        found += [{name: held[name][i] for name in held} | {"step": int(file.stem)} for i in range(len(held["keys"]))]
    return found


def by_id(out: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in samples(out)}


def turns(out: Path) -> dict[str, list[dict[str, Any]]]:
    """The turns of each sample, in order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(rs.open(out / "runs").run().turns(as_arrow=True).to_pylist(), key=lambda row: row["turn"]):
        found.setdefault(row["sample"], []).append(row)
    return found


def wrote(row: dict[str, Any]) -> list[tuple[int, int]]:
    """Where each part of a sample begins and ends that the policy wrote."""
    edges = np.flatnonzero(np.diff(np.asarray(row["action_mask"], bool), prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def pooled(rows: list[dict[str, Any]], *names: str) -> list[Any]:
    """Values of all tokens that the policy wrote."""
    wrote = np.concatenate([row["action_mask"] for row in rows]).astype(bool)
    return [np.concatenate([row[name] for row in rows])[wrote] for name in names]


def test_numbers_are_those_that_the_training_logged(out: Path) -> None:
    stored_is_logged(out)
    assert all(values["actor/grad_norm"] > 0 for values in logged(out).values()), "the weights were updated"


def test_samples_are_those_of_verls_own_dump(out: Path) -> None:
    rows = by_id(out)
    assert len(rows) == STEPS * SAMPLES
    for step in range(1, STEPS + 1):
        for line in lines(out / "dump" / f"{step}.jsonl"):
            row = rows.pop(f"train/{step}/{line['uid']}")
            assert (row["prompt"], row["completion"], row["answer"]) == (line["input"], line["output"], line["gts"])
            assert row["score"] == row["reward"] == pytest.approx(line["score"]) and row["step"] == step
    assert not rows


def test_tokens_and_log_probabilities_are_those_of_the_update(out: Path) -> None:
    rows = by_id(out)
    for held in updates(out):
        row = rows[f"train/{held['step']}/{held['keys']}"]
        assert list(row["token_ids"]) == held["responses"] and list(row["action_mask"]) == held["loss_mask"]
        for ours, theirs in {**LOGPS, "token_advantages": "advantages", "entropy": "entropy"}.items():
            np.testing.assert_allclose(row[ours], held[theirs], rtol=1e-6)
        assert row["score"] == pytest.approx(sum(held["rm_scores"]))
        assert row["prompt_tokens"] == len(held["prompts"]) and row["completion_tokens"] == sum(held["loss_mask"])
        assert row["group"] == held["keys"].rsplit("_", 2)[0] and row["trained"]
        assert row["policy_version_min"] == row["policy_version_max"] == held["step"] - 1


def heard(out: Path) -> tuple[dict[str, list[list[dict[str, Any]]]], list[dict[str, Any]]]:
    """What vLLM said in each part of a sample that the policy wrote; and what is in no sample.

    An answer that was broken off goes on in a next one, which was asked with what was said before.
    """
    asked = {f"train/{held['step']}/{held['keys']}": held["prompts"] for held in updates(out)}
    left, found = lines(out / "engine.jsonl"), {}
    for id, row in by_id(out).items():
        ids, logps = list(row["token_ids"]), row["rollout_logp"].tolist()
        found[id] = [
            taken(left, asked[id] + ids[:start], ids[start:end], logps[start:end]) for start, end in wrote(row)
        ]
    return found, left


def taken(left: list[dict[str, Any]], asked: list[int], said: list[int], logps: list[float]) -> list[dict[str, Any]]:
    """Take the answers that make up a part of a sample out of those that are left."""
    one = next(
        one
        for one in left
        if one["tokens"]
        and one["asked"] == asked
        and one["tokens"] == said[: len(one["tokens"])]
        and one["logps"] == pytest.approx(logps[: len(one["logps"])], rel=1e-6)
        and (one["ended"] == "abort") == (len(one["tokens"]) < len(said))
    )
    left.remove(one)
    count = len(one["tokens"])
    rest = taken(left, asked + said[:count], said[count:], logps[count:]) if count < len(said) else []
    return [one, *rest]


def test_each_answer_of_vllm_is_in_one_sample_with_its_log_probabilities_and_its_end(out: Path) -> None:
    found, left = heard(out)
    for id, row in by_id(out).items():
        assert [len(answers) for answers in found[id]] == [1] * row["turns"]
        assert row["stop_reason"] == found[id][-1][-1]["ended"]
        assert {answers[0]["updates"] - 1 for answers in found[id]} == {row["policy_version_min"]}
    assert {row["stop_reason"] for row in samples(out)} == {"stop", "length"}
    assert len(left) == VALIDATED + sum(CALLED in row["completion"] for row in samples(out, "eval"))


def test_vllm_draws_with_the_weights_of_the_last_update(out: Path) -> None:
    for step in range(1, STEPS + 1):
        rollout, old, ref = pooled([row for row in samples(out) if row["step"] == step], *LOGPS)
        np.testing.assert_allclose(rollout, old, atol=1e-4)
        apart = np.abs(rollout - old).mean()
        since_the_start = np.abs(rollout - ref).mean()  # the reference has the weights of the start
        assert since_the_start > 1000 * apart if step > 1 else since_the_start < 2 * apart


def test_samples_recompute_what_verl_logged(out: Path) -> None:
    for step, data in logged(out).items():
        own = [row for row in samples(out) if row["step"] == step]
        rollout, old, ref, entropy = pooled(own, "rollout_logp", "old_logp", "ref_logp", "entropy")
        lengths = [row["response_tokens"] for row in own]
        assert np.mean([row["reward"] for row in own]) == pytest.approx(data["critic/rewards/mean"], rel=1e-5)
        assert np.mean(lengths) == pytest.approx(data["response_length/mean"])
        longest = np.mean(np.equal(lengths, max(lengths)))  # V1 pads to the longest of the batch
        assert longest == pytest.approx(data["response_length/clip_ratio"])
        assert entropy.mean() == pytest.approx(data["actor/entropy"], rel=1e-5)
        apart = (torch.from_numpy(rollout).exp() - torch.from_numpy(old).exp()).abs()  # of the size of rounding
        assert apart.mean().item() == pytest.approx(data["training/rollout_probs_diff_mean"], rel=1e-3)
        assert apart.max().item() == pytest.approx(data["training/rollout_probs_diff_max"], rel=1e-3)
        k3 = np.exp(ref - old) - 1 - (ref - old)  # one update a step: the policy of the loss is the old one
        assert k3.mean() == pytest.approx(data["actor/kl_loss"], rel=1e-3, abs=1e-6)
        assert np.mean([row["off_policy_steps"] for row in own]) == 0


def test_advantages_are_those_of_the_groups(out: Path) -> None:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in samples(out):
        groups.setdefault(row["group"], []).append(row)
    assert {len(rows) for rows in groups.values()} == {4} and len(groups) == STEPS * SAMPLES / 4
    for rows in groups.values():
        rewards = np.array([row["reward"] for row in rows])
        expected = (rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-6)
        np.testing.assert_allclose([row["advantage"] for row in rows], expected, rtol=1e-3, atol=1e-4)
        assert len({(row["step"], row["task"], row["prompt"]) for row in rows}) == 1


def test_calls_that_the_model_wrote_are_turns_with_the_answer_of_the_tool(out: Path) -> None:
    known, called = turns(out), [row for row in samples(out) if row["completion"].startswith(CALLED)]
    assert {row["step"] for row in called} == set(range(1, STEPS + 1))
    for row in called:
        first, tool, second = known[row["id"]]
        assert [turn["role"] for turn in (first, tool, second)] == ["assistant", "tool", "assistant"]
        assert first["stop_reason"] == "tool" and "<tool_call>" in first["content"]
        assert (tool["tool"], json.loads(tool["arguments"]), tool["result"]) == ("add", {"a": 2, "b": 3}, "5")
        (_, said), (again, end) = wrote(row)
        assert [first["tokens"], tool["tokens"], second["tokens"]] == [said, TOLD, end - again]
        assert (row["turns"], row["tool_calls"], row["tool_failures"]) == (2, 1, 0) and row["tool_seconds"] > 0


def test_samples_have_the_turns_parts_of_reward_and_kind_that_verl_gave(out: Path) -> None:
    rows = samples(out)
    assert Counter(row["env"] for row in rows) == {"add": 24, "say": 12, "sing": 12}
    for row in rows:
        parts = _json(row["rewards"])
        assert parts == {"score": pytest.approx(row["score"]), "called": float("tool_call" in row["completion"])}
        assert row["turns"] == len(wrote(row)) and (row["turns"] == 1 or row["env"] == "add")
        assert row["generate_seconds"] > 0 and row["reward_seconds"] > 0
    for step, data in logged(out).items():
        both = [row["turns"] * 2 for row in rows if row["step"] == step]  # veRL counts what the policy is told, too
        assert np.mean(both) == data["training/num_turns/mean"]


def test_validations_are_samples_that_give_its_number(out: Path) -> None:
    rows, numbers = samples(out, "eval"), logged(out)[STEPS]
    assert len(rows) == VALIDATED and {row["step"] for row in rows} == {STEPS} and all(row["prompt"] for row in rows)
    for word in ("add", "say", "sing"):
        own = [row["score"] for row in rows if word in row["prompt"]]
        assert np.mean(own) == pytest.approx(numbers[f"val-core/{word}/reward/mean@1"])


def test_stages_and_what_the_workers_did_are_spans(out: Path) -> None:
    spans = rs.open(out / "runs").run().table("spans", as_arrow=True).to_pylist()
    stages = Counter((row["name"], row["step"]) for row in spans if row["lane"] == "driver/0")
    names = ("step", "gen", "old_log_prob", "ref", "adv", "update_actor", "update_weights")
    assert stages == {("testing", STEPS): 1, **{(name, step): 1 for name in names for step in range(1, STEPS + 1)}}
    calls = Counter((row["lane"], row["name"]) for row in spans if row["lane"].startswith("ray:"))
    counts = {"init_model": 1, "compute_log_prob": STEPS, "compute_ref_log_prob": STEPS, "update_actor": STEPS}
    for name, count in {**counts, "update_weights": STEPS + 1}.items():
        assert calls["ray:WorkerDict/0", f"actor_rollout_ref_{name}"] == count
    assert calls["ray:vLLMHttpServer/0", "generate"] == len(lines(out / "engine.jsonl"))
    scored = calls["ray:RewardLoopWorker/0", "compute_score"]  # some may be shorter than is recorded
    assert STEPS * SAMPLES / 2 < scored <= STEPS * SAMPLES + VALIDATED


def test_steps_follow_one_another_and_hold_their_stages_and_the_calls_that_they_wait_for(out: Path) -> None:
    spans = rs.open(out / "runs").run().table("spans", as_arrow=True).to_pylist()
    stages = {(row["name"], row["step"]): row for row in spans if row["lane"] == "driver/0"}
    steps = [stages["step", step] for step in range(1, STEPS + 1)]
    tested = stages.pop(("testing", STEPS))
    assert all(within(row, stages["step", row["step"]]) for row in stages.values())
    assert tested["start_ns"] + SLACK >= steps[-1]["end_ns"]
    assert all(earlier["end_ns"] <= later["start_ns"] + SLACK for earlier, later in pairwise(steps))
    for step in range(1, STEPS + 1):
        for call, stage in WAITS.items():
            calls = [row for row in spans if row["name"] == f"actor_rollout_ref_{call}"]
            (inside,) = [row for row in calls if within(row, stages[stage, step])]
            assert inside["step"] == step
        generated = [row for row in spans if row["name"] == "generate" and row["step"] == step]
        assert all(within(row, stages["step", step]) or within(row, tested) for row in generated) and generated


def within(row: dict[str, Any], outer: dict[str, Any]) -> bool:
    return bool(outer["start_ns"] - SLACK <= row["start_ns"] <= row["end_ns"] <= outer["end_ns"] + SLACK)


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory, "colocate_async")


def test_versions_are_those_of_the_weights_that_vllm_had(late: Path) -> None:
    (found, left), rows = heard(late), by_id(late)
    assert len(rows) == LATE_STEPS * SAMPLES
    nothing = [(one["asked"], one["updates"]) for one in left if not one["tokens"]]  # broken off before the first token
    for id, row in rows.items():
        updates = [answer["updates"] for answers in found[id] for answer in answers]
        begun = {updates[0], *(earlier for asked, earlier in nothing if asked == found[id][0][0]["asked"])}
        assert row["policy_version_min"] + 1 in begun and row["policy_version_max"] + 1 == updates[-1]
        assert row["off_policy_steps"] == row["step"] - 1 - row["policy_version_min"]
        assert row["stop_reason"] == found[id][-1][-1]["ended"]


def test_what_was_drawn_with_older_weights_is_as_stale_as_verl_logged(late: Path) -> None:
    for step, data in logged(late).items():
        own = [row for row in samples(late) if row["step"] == step]
        newest, oldest = ([step - 1 - row[f"policy_version_{end}"] for row in own] for end in ("max", "min"))
        assert np.mean(newest) == data["training/off_policy/trajectory_staleness/mean"]
        assert np.mean(oldest) == data["training/off_policy/trajectory_staleness_worst/mean"]
        weights = np.subtract(oldest, newest) + 1  # more than one set where an update broke into an answer
        assert np.mean(weights) == data["training/off_policy/trajectory_spans/mean"]
        assert np.mean([row["reward"] for row in own]) == pytest.approx(data["critic/rewards/mean"], rel=1e-5)
        rollout, old = (torch.from_numpy(values).exp() for values in pooled(own, "rollout_logp", "old_logp"))
        assert (rollout - old).abs().max().item() == pytest.approx(data["training/rollout_probs_diff_max"], rel=1e-3)
