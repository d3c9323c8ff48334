"""`rollscope demo --no-serve` trains five runs and ends, and their numbers agree with their rows.

Without torch it says what to install.
"""

from __future__ import annotations

import json
import math
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("torch")

import rollscope as rs
from rollscope.cli import demo
from rollscope.views.metric_info import name_list
from tests.ports import free_port

SHORT = ["--seconds", "2", "--set", "warmup.steps=60", "--set", "rollout.discard_group_zero_advantage=false"]
SMALL = ["--set", "evaluation.sets=[{name='shop-eval', environment='shop', tasks=2}]", "--set", "evaluation.every=3"]
OF_A_STEP = ("samples/generated", "length/prompt/generated/mean", "length/completion/generated/mean")
FATE_KNOWN = "split = 'train' AND trained IS NOT NULL"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "rollscope", "demo", "--no-serve", "--json", "--dir", str(folder), *SHORT, *SMALL]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    ids = json.loads(done.stdout)["runs"]
    return {name: rs.open(folder).run(id) for name, id in zip(demo.RUNS, ids, strict=True)}


def values(run, name):
    series = run.series(name)
    return dict(zip(series["step"].tolist(), series["value"].tolist(), strict=True))


def test_the_demo_ends_by_itself_and_leaves_five_finished_runs(recorded):
    algorithms = [run.facts["algorithm"] for run in recorded.values()]
    assert algorithms == ["grpo", "ppo", "ppo", "dpo", "reward_model"]
    assert {run.record()["state"] for run in recorded.values()} == {"finished"}


@pytest.mark.parametrize("name", demo.RUNS)
def test_every_value_lies_in_the_natural_range_of_its_entry(recorded, name):
    """Shares lie in 0 to 1, counts and times are not negative, at every step."""
    run, outside = recorded[name], {}
    for info in name_list(run)["names"]:
        low, high = info["range"]
        if info["range_from"] == "natural" and info["count"]:
            seen = np.array([x for x in values(run, info["name"]).values() if math.isfinite(x)])
            low, high = -math.inf if low is None else low - 1e-6, math.inf if high is None else high + 1e-6
            if ((seen < low) | (seen > high)).any():
                outside[info["name"]] = (seen.min(), seen.max(), info["range"])
    assert outside == {}


@pytest.mark.parametrize("name", ["shop", "ppo"])
def test_counts_are_the_counts_of_the_rows(recorded, name):
    run, seen, tokens = recorded[name], 0, 0
    generated, trained = values(run, "samples/generated"), values(run, "samples/trained")
    totals, spent = values(run, "counter/samples"), values(run, "counter/tokens")
    clocks = run.steps()
    clock = dict(zip(clocks["step"].tolist(), zip(clocks["samples"], clocks["tokens"], strict=True), strict=True))
    for step in sorted(generated):
        columns = ["trained", "prompt_tokens", "completion_tokens"]
        rows = run.samples(step=step, where=FATE_KNOWN, columns=columns)
        seen += len(rows["trained"])
        tokens += int(rows["prompt_tokens"].sum() + rows["completion_tokens"].sum())
        assert (generated[step], trained[step]) == (len(rows["trained"]), sum(rows["trained"].astype(bool)))
        assert (totals[step], spent[step]) == (seen, tokens) == clock[step]
    assert values(run, "pipeline/in") == generated and values(run, "pipeline/out") == trained


@pytest.mark.parametrize("name", demo.RUNS)
def test_a_counter_is_the_sum_of_its_steps(recorded, name):
    run, seen, tokens = recorded[name], 0.0, 0.0
    clocks = run.steps()
    clock = dict(zip(clocks["step"].tolist(), clocks["samples"].tolist(), strict=True))
    counted, spent = values(run, "counter/samples"), {}
    if name != "reach":  # its actions are no tokens
        spent = values(run, "counter/tokens")
        assert spent.keys() == counted.keys()
    for step, count in values(run, "samples/generated").items():
        seen += count
        assert counted[step] == seen == clock[step]
    counts, prompts, answers = (values(run, name) for name in OF_A_STEP) if spent else ({}, {}, {})
    for step, total in spent.items():
        tokens += counts[step] * (prompts[step] + answers[step])
        assert total == pytest.approx(tokens)


def test_episodes_are_the_rows_of_the_gymnasium_run(recorded):
    run, seen, steps = recorded["reach"], 0, 0
    clocks = run.steps()
    env_steps = dict(zip(clocks["step"].tolist(), clocks["env_steps"].tolist(), strict=True))
    for step, episodes in values(run, "counter/episodes").items():
        rows = run.samples(step=step, where=FATE_KNOWN, columns=["reward", "completion_tokens"])
        seen, steps = seen + len(rows["reward"]), steps + int(rows["completion_tokens"].sum())
        assert (episodes, env_steps[step]) == (seen, steps)
        for metric, column in {"env/return": "reward", "env/episode_len": "completion_tokens"}.items():
            assert values(run, f"{metric}/mean")[step] == pytest.approx(rows[column].astype(float).mean(), rel=1e-6)
        assert values(run, "reward/trained/mean")[step] == pytest.approx(rows["reward"].mean(), rel=1e-6)


@pytest.mark.parametrize("name", ["preference", "judge"])
def test_a_step_on_pairs_counts_its_pairs(recorded, name):
    """Rows are recorded when a pair is first used; a step counts every answer in its loss."""
    run = recorded[name]
    drawn = values(run, "samples/trained")
    assert set(drawn.values()) == {64.0} and drawn == values(run, "samples/generated")
    rows = run.samples(where=FATE_KNOWN, columns=["id", "step"])
    assert len(set(rows["id"])) == len(rows["id"]) <= sum(drawn.values())
    assert (
        values(run, "reward/trained/mean").keys()
        == values(run, "length/completion/trained/mean").keys()
        == drawn.keys()
    )


def test_a_benchmark_has_names_of_its_own(recorded):
    run = recorded["preference"]
    name = "bench/countdown-bench/acc/mean@2"
    assert len(values(run, name)) and run.find("bench/countdown-bench/accuracy/mean@2").stored == name


@pytest.mark.parametrize("name", demo.RUNS)
def test_the_schedule_is_that_of_the_learning_rate(recorded, name):
    run = recorded[name]
    assert values(run, "optimiser/scheduler/last_lr") == pytest.approx(values(run, "optimiser/lr"))
    updates = list(values(run, "optimiser/scheduler/last_epoch").values())
    assert updates == sorted(updates) and updates[-1] >= len(updates)


@pytest.mark.parametrize("name", ["shop", "ppo"])
def test_means_are_the_means_of_the_rows(recorded, name):
    run = recorded[name]
    for metric, column in {"reward": "reward", "length/completion": "completion_tokens"}.items():
        for step, mean in values(run, f"{metric}/generated/mean").items():
            rows = run.samples(step=step, where=FATE_KNOWN, columns=[column])[column]
            assert mean == pytest.approx(np.mean(rows.astype(float)), rel=1e-6)


def test_parts_equal_the_whole(recorded):
    """Generated is trained and discarded, and all environments together are the run."""
    run = recorded["shop"]
    rows = run.sql(
        "SELECT step, coalesce(env, '') AS env, sum(value) AS value FROM metrics"
        " WHERE name = 'samples/generated' GROUP BY ALL"
    )
    total = {step: value for step, env, value in zip(*map(list, rows.values()), strict=True) if not env}
    by_env: dict[int, float] = {}
    for step, env, value in zip(*map(list, rows.values()), strict=True):
        by_env[step] = by_env.get(step, 0.0) + (value if env else 0.0)
    assert by_env == total and set(rows["env"]) == {"", "shop", "countdown"}
    discarded = values(run, "discarded/share")
    for step, count in values(run, "samples/generated").items():
        assert values(run, "samples/trained")[step] == pytest.approx(count * (1 - discarded[step]))


def test_reward_is_the_sum_of_its_components(recorded):
    rows = recorded["shop"].samples(where=FATE_KNOWN, columns=["score", "rewards"])
    assert len(rows["score"]) and all(
        score == pytest.approx(sum(parts.values())) for score, parts in zip(rows["score"], rows["rewards"], strict=True)
    )


def test_evaluations_have_the_tasks_of_their_rows(recorded):
    run = recorded["shop"]
    rows = run.evals()
    for step, tasks in values(run, "eval/shop-eval/tasks").items():
        mine = (rows["set"] == "shop-eval") & (rows["step"] == step)
        assert tasks == len(set(rows["task"][mine])) == 2


def test_samples_can_be_read_and_the_machine_was_watched(recorded):
    run = recorded["shop"]
    rows = run.samples(where="env = 'shop' AND turns > 1 AND split = 'train'", columns=["prompt", "tool_calls", "id"])
    assert len(rows["id"]) and "buys" in rows["prompt"][0] and max(rows["tool_calls"]) >= 1
    host = run.sql("SELECT DISTINCT name FROM host")["name"].tolist()
    assert {"host/cpu_utilisation", "host/memory_used"} <= set(host)
    assert math.isfinite(run.series("perf/mfu/policy")["value"][-1])


def test_without_torch_it_says_what_to_install(tmp_path):
    call = f"main(['demo', '--no-serve', '--dir', {str(tmp_path)!r}])"
    program = f"import sys; sys.modules['torch'] = None; from rollscope.cli import main; sys.exit({call})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "training needs the package 'torch'" in done.stderr and 'pip install "rollscope[train]"' in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_dashboard_ends_with_a_demo_that_is_ended(tmp_path):
    port = free_port()
    words = ["--dir", str(tmp_path), "--port", str(port), "--no-browser"]
    training = subprocess.Popen(
        [sys.executable, "-m", "rollscope", "demo", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: listens(port), training)
        training.terminate()
        assert training.wait(300) == 128 + signal.SIGTERM
    finally:
        training.kill()
    assert not listens(port)


def listens(port):
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def wait_for(true, process):
    until = time.monotonic() + 300
    while not true():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.1)
