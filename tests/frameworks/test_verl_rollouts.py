"""veRL's own training loops with a stubbed engine: every training rollout is a sample.

`out` is the trainer that holds its batch as a `DataProto`: the only one of 0.8, the older of 0.9.
`queue` is the V1 trainer of 0.9, which keeps its batches in TransferQueue.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.store import store as rs  # the stored series, without derived ones
from tests.recorded import LIVE, held, recorded

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".venvs" / "verl" / "bin" / "python"
STEPS, SAMPLES, WIDTH = 3, 8, 6
FAULTS = ("setup", "before", "after", "run", "disk", "renamed")  # of faults.py
QUEUE_FAULTS = ("before", "after", "run", "disk", "renamed")
SAME = ("critic/score", "critic/rewards", "response_length", "num_turns", "actor/pg_loss")  # in every training
LOGPS = {"rollout_logp": "rollout_log_probs", "old_logp": "old_log_probs", "ref_logp": "ref_log_prob"}
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


def ran(script: str, folder: Path, version: str, *modes: str) -> str:
    """Run trainings of veRL, one without a fault and one for each mode; return what they said."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "VERL_USE_EXTERNAL_PLUGINS": "none", "OMP_NUM_THREADS": "1"}
    if version == "0.8":
        env["PYTHONPATH"] += os.pathsep + str(ROOT / ".venvs" / "verl08")
    words = [PYTHON, HERE / script, folder, *modes]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert all(f"{mode} ended at step {STEPS + 1}" in done.stderr for mode in ("", *modes)), done.stderr[-3000:]
    return done.stderr


def samples(folder: Path, split: str = "train") -> list[dict[str, Any]]:
    table = rs.open(folder / "runs").run().samples(where=f"split = '{split}'")
    rows = zip(*(table[name] for name in table), strict=True)
    found = [dict(zip(table, row, strict=True)) for row in rows]
    return sorted(found, key=lambda row: (row["step"], [f"{word:0>9}" for word in row["id"].split("/")]))


def logged(folder: Path) -> dict[int, dict[str, float]]:
    """The numbers of veRL's file logger by step."""
    lines = [json.loads(line) for line in (folder / "logged.jsonl").read_text().splitlines()]
    return {line["step"]: {k: v for k, v in line["data"].items() if isinstance(v, int | float)} for line in lines}


def stored_is_logged(folder: Path) -> None:
    run, expected = rs.open(folder / "runs").run(), logged(folder)
    names = {name for values in expected.values() for name in values}
    assert set(run.metrics()["name"]) == names and len(names) > 40 and sorted(expected) == [1, 2, 3]
    for name in names:
        series = run.series(name)
        stored = dict(zip(series["step"].tolist(), series["value"].tolist(), strict=True))
        assert stored == {step: values[name] for step, values in expected.items() if name in values}, name


@pytest.fixture(scope="module", params=["0.9", "0.8"])
def out(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verl")
    said = ran("verl_fit_run.py", folder, request.param, "bare", *(FAULTS if request.param == "0.9" else ()))
    (folder / "said").write_text(said)
    assert "rollscope:" not in said.partition("bare ended at step")[0], said[-3000:]
    return folder


def test_numbers_are_those_that_verl_logged(out: Path) -> None:
    stored_is_logged(out)


def test_text_score_and_answer_are_those_of_verls_own_dump(out: Path) -> None:
    rows = samples(out)
    assert len(rows) == STEPS * SAMPLES
    for step in range(1, STEPS + 1):
        dump = [json.loads(line) for line in (out / "dump" / f"{step}.jsonl").read_text().splitlines()]
        ours = [row for row in rows if row["step"] == step]
        assert [row["prompt"] for row in ours] == [line["input"] for line in dump]
        assert [row["completion"] for row in ours] == [line["output"] for line in dump]
        assert [row["score"] for row in ours] == pytest.approx([line["score"] for line in dump])
        assert [row["answer"] for row in ours] == [line["gts"] for line in dump]


def test_tokens_log_probabilities_groups_and_advantages_are_those_of_the_batch(out: Path) -> None:
    rows = samples(out)
    for step in range(1, STEPS + 1):
        batch = np.load(out / "drawn" / f"{step}.npz")
        for i, row in enumerate(row for row in rows if row["step"] == step):
            length = int(batch["attention_mask"][i, -WIDTH:].sum())
            mask = batch["response_mask"][i, :length].astype(bool)
            assert list(row["token_ids"]) == batch["responses"][i, :length].tolist()
            assert list(row["action_mask"]) == mask.astype(int).tolist()
            for ours, theirs in {**LOGPS, "token_advantages": "advantages"}.items():
                np.testing.assert_allclose(row[ours], batch[theirs][i, :length], rtol=1e-6)
            assert row["advantage"] == pytest.approx(float(batch["advantages"][i, :length][mask].mean()), rel=1e-5)
            assert row["group"] == str(batch["uid"][i]) and row["task"] == f"gsm8k/{i // 2}" and row["env"] == "gsm8k"
            assert (row["prompt_tokens"], row["completion_tokens"], row["response_tokens"]) == (3, mask.sum(), length)
            assert row["stop_reason"] == ("length" if length == WIDTH else "stop") and row["repeat"] == i % 2
            assert _json(row["rewards"]) == {"format": float(i % 2)}
            assert row["policy_version_min"] == row["policy_version_max"] == step - 1
            assert row["trained"] and row["off_policy_steps"] == 0


def test_samples_recompute_what_verl_logged(out: Path) -> None:
    rows = samples(out)
    for step, data in logged(out).items():
        some = [row for row in rows if row["step"] == step]
        assert np.mean([row["reward"] for row in some]) == pytest.approx(data["critic/rewards/mean"], abs=1e-5)
        assert np.mean([row["response_tokens"] for row in some]) == pytest.approx(data["response_length/mean"])
        cut = np.mean([row["stop_reason"] == "length" for row in some])
        assert cut == pytest.approx(data["response_length/clip_ratio"])
        wrote = np.concatenate([np.asarray(row["action_mask"], bool) for row in some])
        entropy = np.concatenate([np.asarray(row["entropy"], float) for row in some])
        assert entropy[wrote].mean() == pytest.approx(data["actor/entropy"], rel=1e-5)


def test_what_the_policy_was_told_is_a_turn_of_its_own(out: Path) -> None:
    run, row = rs.open(out / "runs").run(), max(samples(out), key=lambda row: row["response_tokens"])
    turns = run.turns()
    own = sorted(i for i, id in enumerate(turns["sample"].tolist()) if id == row["id"])
    assert [turns["role"][i] for i in own] == ["assistant", "environment", "assistant"] and row["turns"] == 2
    assert [turns["tokens"][i] for i in own] == [1, 1, row["response_tokens"] - 2]
    assert " ".join(turns["content"][i] for i in own).strip() == row["completion"]


def test_stages_are_spans_within_their_step(out: Path) -> None:
    spans = rs.open(out / "runs").run().spans()
    rows = [dict(zip(spans, row, strict=True)) for row in zip(*(spans[name] for name in spans), strict=True)]
    for step in range(1, STEPS + 1):
        own = {row["name"]: row for row in rows if row["step"] == step}
        order = [own[name]["start_ns"] for name in ("step", "gen", "old_log_prob", "ref", "update_actor")]
        assert order == sorted(order) and {"reward", "adv", "update_weights"} <= own.keys()
        measured = (own["update_actor"]["end_ns"] - own["update_actor"]["start_ns"]) / 1e9
        assert measured == pytest.approx(logged(out)[step]["timing_s/update_actor"], abs=0.05)


def test_a_batch_that_lacks_what_it_may_lack_is_recorded_without_it(out: Path) -> None:
    rows = samples(out / "bare")
    assert len(rows) == STEPS * SAMPLES
    lacking = ("rollout_logp", "ref_logp", "rewards", "env", "answer")
    assert all(row[name] is None or not len(row[name]) for row in rows for name in lacking)
    assert all(row["completion"] and len(row["old_logp"]) and row["group"] and row["task"] for row in rows)


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verl")
    (folder / "said").write_text(ran("verl_queue_run.py", folder, "0.9", *QUEUE_FAULTS))
    return folder


def test_numbers_are_those_that_the_v1_trainer_logged(queue: Path) -> None:
    stored_is_logged(queue)
    assert "rollscope:" not in (queue / "said").read_text().partition(" ended at step")[0]


def test_samples_of_the_queue_are_those_of_verls_own_dump(queue: Path) -> None:
    rows = {row["id"]: row for row in samples(queue)}
    assert len(rows) == STEPS * SAMPLES
    for step in range(1, STEPS + 1):
        for line in map(json.loads, (queue / "dump" / f"{step}.jsonl").read_text().splitlines()):
            row = rows[f"train/{step}/{line['uid']}"]
            assert (row["prompt"], row["completion"], row["answer"]) == (line["input"], line["output"], line["gts"])
            assert row["score"] == row["reward"] == pytest.approx(line["score"]) and row["step"] == step
            assert row["group"] == line["uid"].rsplit("_", 2)[0] and row["task"].startswith("sums/")


def test_tokens_of_the_queue_are_those_of_the_update(queue: Path) -> None:
    rows = {row["id"]: row for row in samples(queue)}
    columns = {**LOGPS, "token_advantages": "advantages", "entropy": "entropy"}
    for step in range(1, STEPS + 1):
        kept = json.loads((queue / "held" / f"{step}.json").read_text())
        for i, key in enumerate(kept["keys"]):
            row = rows[f"train/{step}/{key}"]
            assert list(row["token_ids"]) == kept["responses"][i] and list(row["action_mask"]) == kept["loss_mask"][i]
            for ours, theirs in columns.items():
                np.testing.assert_allclose(row[ours], kept[theirs][i], rtol=1e-6)
            assert row["prompt_tokens"] == len(kept["prompts"][i])
            assert row["policy_version_min"] == row["policy_version_max"] == step - 1 and row["trained"]
            parts = _json(row["rewards"])
            assert row["reward"] == parts["answer"] + 0.5 * parts["called"] and row["generate_seconds"] > 0
            assert _json(row["extra"])["seen"] == row["completion"][:5]


def test_samples_of_the_queue_recompute_what_verl_logged(queue: Path) -> None:
    rows = samples(queue)
    for step, data in logged(queue).items():
        some = [row for row in rows if row["step"] == step]
        lengths = [row["response_tokens"] for row in some]
        assert np.mean([row["reward"] for row in some]) == pytest.approx(data["critic/rewards/mean"])
        assert np.mean(lengths) == pytest.approx(data["response_length/mean"])
        longest = np.mean(np.equal(lengths, max(lengths)))  # V1 pads to the longest of the batch
        assert longest == pytest.approx(data["response_length/clip_ratio"])
        assert all((row["stop_reason"] == "length") == (row["response_tokens"] == 112) for row in some)
        stale = np.mean([row["off_policy_steps"] for row in some])
        assert stale == data["training/off_policy/trajectory_staleness/mean"] == 0


def test_validations_of_the_v1_trainer_are_samples_that_give_its_number(queue: Path) -> None:
    rows = samples(queue, "eval")
    assert len(rows) == 12 and {row["step"] for row in rows} == {STEPS} and all(row["completion"] for row in rows)
    expected = logged(queue)[STEPS]["val-core/sums/reward/mean@1"]
    assert np.mean([row["score"] for row in rows]) == pytest.approx(expected)


def test_the_table_says_what_is_recorded(queue: Path) -> None:
    assert recorded(rs.open(queue / "runs").run()) == held("verl", LIVE)


@pytest.mark.parametrize(("mode", "stalest"), [("colocate_async", 1), ("separate_async", 2)])
def test_versions_of_the_asynchronous_v1_trainers_are_those_that_wrote_the_samples(
    queue: Path, mode: str, stalest: int
) -> None:
    rows = samples(queue / mode)
    assert len(rows) == STEPS * SAMPLES and max(row["off_policy_steps"] for row in rows) == stalest
    for step, data in logged(queue / mode).items():
        some = [row for row in rows if row["step"] == step]
        newest, oldest = ([step - 1 - row[f"policy_version_{end}"] for row in some] for end in ("max", "min"))
        assert np.mean(newest) == data["training/off_policy/trajectory_staleness/mean"]
        assert np.mean(oldest) == data["training/off_policy/trajectory_staleness_worst/mean"]
        assert oldest == [row["off_policy_steps"] for row in some]
        assert np.mean([row["reward"] for row in some]) == pytest.approx(data["critic/rewards/mean"])


def test_samples_of_every_update_of_a_step_are_recorded(queue: Path) -> None:
    folder = queue / "separate_async"
    rows = {row["id"]: row for row in samples(folder)}
    for step in range(1, STEPS + 1):
        kept = json.loads((folder / "held" / f"{step}.json").read_text())
        assert {f"train/{step}/{key}" for key in kept["keys"]} == {id for id in rows if rows[id]["step"] == step}
        for i, key in enumerate(kept["keys"]):
            row = rows[f"train/{step}/{key}"]
            assert list(row["token_ids"]) == kept["responses"][i]
            for ours, theirs in LOGPS.items():
                np.testing.assert_allclose(row[ours], kept[theirs][i], rtol=1e-6)
    stored_is_logged(folder)


def test_tool_calls_of_verls_agent_loop_are_turns(queue: Path) -> None:
    table = rs.open(queue / "runs").run().turns()
    turns = [dict(zip(table, row, strict=True)) for row in zip(*(table[name] for name in table), strict=True)]
    called = [row for row in samples(queue) if row["tool_calls"] == 1]
    assert called and {row["turns"] for row in called} == {2}
    for row in called:
        own = sorted((turn for turn in turns if turn["sample"] == row["id"]), key=lambda turn: turn["turn"])
        assert [turn["role"] for turn in own] == ["assistant", "tool", "assistant"]
        assert own[0]["stop_reason"] == "tool" and "tool_call" in own[0]["content"]
        assert (own[1]["tool"], json.loads(own[1]["arguments"]), own[1]["result"]) == ("add", {"a": 2, "b": 3}, "5")
    assert {row["turns"] for row in samples(queue)} == {1, 2}


def test_every_local_update_of_the_fully_asynchronous_trainer_is_recorded(queue: Path) -> None:
    rows, numbers = samples(queue / "async"), rs.open(queue / "async" / "runs").run().series("critic/rewards/mean")
    assert [row["id"] for row in rows] == [f"train/{update}/{i}" for update in range(1, 5) for i in range(4)]
    for row in rows:
        update, i = map(int, row["id"].split("/")[1:])
        batch = np.load(queue / "async" / "drawn" / f"{update}.npz")
        length = len(row["token_ids"])
        assert list(row["token_ids"]) == batch["responses"][i, :length].tolist() and row["group"] == batch["uid"][i]
        np.testing.assert_allclose(row["old_logp"], batch["old_log_probs"][i, :length], rtol=1e-6)
        assert row["step"] == (update + 1) // 2  # two updates bring new weights
        assert (row["policy_version_min"], row["policy_version_max"]) == (0, int(update > 1))
        assert row["off_policy_steps"] == row["step"] - 1
        assert (row["generate_seconds"], row["tool_seconds"]) == (2.0, 0.5)
    logged_late = {1: ("1",), 2: ("2", "3")}  # the trainer logs a step before it counts its last update
    for step, value in zip(numbers["step"].tolist(), numbers["value"].tolist(), strict=True):
        rewards = [row["reward"] for row in rows if row["id"].split("/")[1] in logged_late[step]]
        assert np.mean(rewards) == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("out", ["0.9"], indirect=True)
def test_no_fault_of_ours_reaches_the_loop(out: Path) -> None:
    undisturbed(out, FAULTS)


def test_no_fault_of_ours_reaches_the_loop_of_the_v1_trainer(queue: Path) -> None:
    undisturbed(queue, QUEUE_FAULTS)


def undisturbed(folder: Path, modes: tuple[str, ...]) -> None:
    """Trainings in which our code failed logged the same numbers as the one in which it did not."""
    said = (folder / "said").read_text()
    assert said.count("a bug of ours") >= len(modes)
    assert "No space left on device" in said and "KeyError('responses')" in said
    plain = logged(folder)
    for mode in modes:
        assert sorted(logged(folder / mode)) == sorted(plain)
        for step, values in logged(folder / mode).items():
            assert values.keys() == plain[step].keys()
            same = {name: value for name, value in values.items() if name.startswith(SAME)}
            assert len(same) > 8 and same == {name: plain[step][name] for name in same}, (mode, step)


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
