"""RLinf: episodes with their videos, rollouts of language models, and sections become one run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.store import store as rs
from tests.frameworks.test_loggers import FAULTS, ran, stored, theirs
from tests.recorded import LIVE, held, recorded

ROOT = Path(__file__).parents[2]
ENV = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / ".venvs" / "rlinf")]),
    "VERL_USE_EXTERNAL_PLUGINS": "none",
}
LOGGED = "logs/tensorboard"
ROUNDS = 32  # episodes of a step: two workers, two stages, four environments, two epochs
TOKENS = {  # our column -> what RLinf's result calls it
    "rollout_logp": "rollout_logprobs",
    "old_logp": "recomputed_logprobs",
    "ref_logp": "ref_logprobs",
    "action_mask": "response_mask",
}
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


@pytest.fixture(scope="module")
def embodied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two steps of an embodied training and an evaluation, and the same with our code broken."""
    out = tmp_path_factory.mktemp("rlinf")
    said = ran("rlinf_run.py", out, ENV)
    assert "rollscope:" not in said.partition(" ended at step")[0], said[-3000:]
    return out


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two updates of RLinf's actor of language models."""
    out = tmp_path_factory.mktemp("rlinf_actor")
    said = ran("rlinf_actor_run.py", out, ENV, ())
    assert "rollscope:" not in said, said[-3000:]
    return out


def of_step(run: Any, split: str, step: int) -> list[dict[str, Any]]:
    rows = run.samples(where=f"split = '{split}' and step = {step}")
    found = [{name: values[i] for name, values in rows.items()} for i in range(len(rows["id"]))]
    return sorted(found, key=lambda row: [*map(str, row["id"].split("/")[:-1]), int(row["id"].split("/")[-1])])


def test_episodes_recompute_what_rlinf_logged(embodied: Path) -> None:
    run, logged = rs.open(embodied / "runs").run(), theirs(embodied / LOGGED)
    assert all(stored(run, name) == values for name, values in logged.items()) and run.record()["state"] == "finished"
    for split, prefix, steps in (("train", "env", (0, 1)), ("eval", "eval", (1,))):
        for step in steps:
            rows = of_step(run, split, step)
            assert len(rows) == logged[f"{prefix}/num_trajectories"][step] == ROUNDS
            for name in ("success_once", "return", "episode_len"):
                mean = np.mean([row["sample_metrics"][name] for row in rows])
                assert mean == pytest.approx(logged[f"{prefix}/{name}"][step])
            assert all(row["reward"] == row["sample_metrics"]["return"] and row["env"] == "libero" for row in rows)


def test_episodes_are_those_that_each_worker_returned(embodied: Path) -> None:
    run = rs.open(embodied / "runs").run()
    kept = json.loads((embodied / "held.json").read_text())
    rounds = [("train", 0, kept[0]), ("train", 1, kept[1]), ("eval", 1, kept[2])]
    assert [one["kind"] for _, _, one in rounds] == ["interact", "interact", "evaluate"]
    for split, step, one in rounds:
        for rank, facts in enumerate(one["ranks"]):
            rows = [row for row in of_step(run, split, step) if row["tags"]["worker"].startswith(f"{rank}.")]
            rows.sort(key=lambda row: int(row["id"].split("/")[-1]))
            for name, values in facts.items():
                assert [row["sample_metrics"][name] for row in rows] == pytest.approx(list(map(float, values)))


def test_groups_tasks_and_versions_of_episodes(embodied: Path) -> None:
    run = rs.open(embodied / "runs").run()
    for step in (0, 1):
        rows = of_step(run, "train", step)
        groups = {group: [row for row in rows if row["group"] == group] for group in {row["group"] for row in rows}}
        assert len(groups) == ROUNDS // 2
        for some in groups.values():
            assert sorted(int(row["repeat"]) for row in some) == [0, 1] and len({row["task"] for row in some}) == 1
            assert len({row["tags"]["seed"] for row in some}) == 1
        for row in rows:
            assert row["prompt"] == row["task"] == f"reach {row['extra']['environment'] // 2}"
            assert row["policy_version_min"] == row["policy_version_max"] == step


def test_the_video_of_an_episode_is_the_one_that_rlinf_saved(embodied: Path) -> None:
    run = rs.open(embodied / "runs").run()
    saved = {path.read_bytes() for path in (embodied / "video").rglob("*.mp4")}
    media = {row["id"]: row["media"] for step in (0, 1) for row in of_step(run, "train", step)}
    media |= {row["id"]: row["media"] for row in of_step(run, "eval", 1)}
    paths = {one["path"] for found in media.values() for one in found}
    assert all(len(found) == 1 and found[0]["kind"] == "video" for found in media.values())
    assert len(paths) == len(list((embodied / "video").rglob("*.mp4"))) == 24
    assert {(Path(run.path) / path).read_bytes() for path in paths} == saved


def test_sections_of_runner_and_workers_are_spans(embodied: Path) -> None:
    run, logged = rs.open(embodied / "runs").run(), theirs(embodied / LOGGED)
    spans = run.spans()
    found = {
        (lane, name, int(step))
        for lane, name, step in zip(spans["lane"], spans["name"], spans["step"].tolist(), strict=True)
    }
    own = ("step", "sync_weights", "generate_rollouts", "cal_adv_and_returns")
    for step in (0, 1):
        assert {("runner/0", name, step) for name in own} <= found
        assert {(f"env/{rank}", "interact", step) for rank in range(2)} <= found
        assert {("actor/0", "run_training", step), ("rollout/0", "predict", step)} <= found
    seconds = (spans["end_ns"] - spans["start_ns"]) / 1e9
    whole = [
        length
        for length, name, step in zip(seconds, spans["name"], spans["step"], strict=True)
        if (name, step) == ("step", 0)
    ]
    assert whole == [pytest.approx(logged["time/step"][0], rel=0.05)]


def test_no_fault_of_ours_reaches_the_loop_of_rlinf(embodied: Path) -> None:
    plain = theirs(embodied / LOGGED)
    for mode in FAULTS:
        logged = theirs(embodied / mode / LOGGED)
        lacking = {"env/return", "eval/return"} if mode == "fields" else set()  # the environment does not say it
        names = {name for name in plain if not name.startswith("time/")} - lacking
        assert len(names) > 5 and all(logged[name] == plain[name] for name in names), mode
    lacking = rs.open(embodied / "fields" / "runs").run()
    rows = lacking.samples(where="split = 'train'")
    assert len(rows["id"]) == 2 * ROUNDS and all(np.isnan(rows["reward"])) and not any(rows["prompt"])


def test_tokens_of_rollouts_are_those_of_the_update(spoken: Path) -> None:
    run = rs.open(spoken / "runs").run()
    for step in (0, 2):  # RLinf counts mini-batches
        kept, rows = json.loads((spoken / "held" / f"{step}.json").read_text()), of_step(run, "train", step)
        assert len(rows) == len(kept) == 6
        for i, (row, one) in enumerate(zip(rows, kept, strict=True)):
            length = one["response_lengths"]
            assert list(row["token_ids"]) == one["response_ids"] and row["prompt_tokens"] == len(one["prompt_ids"])
            assert row["completion"] == " ".join(f"t{token}" for token in one["response_ids"])
            for ours, name in TOKENS.items():
                mask = [1] * length if row[ours] is None else row[ours]
                np.testing.assert_allclose(mask, one[name][:length], rtol=1e-6)
            assert row["reward"] == pytest.approx(one["rewards"]) and row["answer"] == one["answers"][0]
            assert row["stop_reason"] == ("stop" if one["is_end"] else "length")
            assert row["group"] == f"train/{step}/0/{i // 2 * 2}" and row["repeat"] == i % 2
            assert row["policy_version_min"] == row["policy_version_max"] == step // 2 and row["trained"]


def test_rollouts_recompute_what_rlinf_logged(spoken: Path) -> None:
    run, logged = rs.open(spoken / "runs").run(), theirs(spoken / LOGGED)
    assert all(stored(run, name) == values for name, values in logged.items())
    for step in (0, 2):
        rows = of_step(run, "train", step)
        assert np.mean([row["reward"] for row in rows]) == pytest.approx(logged["rollout/reward_scores"][step])
        lengths = [row["response_tokens"] for row in rows]
        assert np.mean(lengths) == pytest.approx(logged["rollout/average_response_length"][step])
        wrote = np.concatenate([row["token_advantages"][np.asarray(row["action_mask"], bool)] for row in rows])
        assert wrote.max() == pytest.approx(logged["rollout/advantages_max"][step], rel=1e-5)
        for pair in (rows[i : i + 2] for i in range(0, 6, 2)):
            assert sum(row["advantage"] for row in pair) == pytest.approx(0, abs=1e-5)
        turns = run.sql(f"select count(*) as n from turns where step = {step} and role != 'assistant'")["n"][0]
        assert turns == 3, "the second of each group was told a token"


def test_the_table_says_what_is_recorded(embodied: Path, spoken: Path) -> None:
    both = [recorded(rs.open(out / "runs").run()) for out in (embodied, spoken)]
    assert both[0] | both[1] == held("rlinf", LIVE)
