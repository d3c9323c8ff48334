"""`log_batch` computes every metric the batch supports, off the caller's thread."""

import numpy as np
import pytest
import torch

from rollscope.catalog.compute.compute import compute
from rollscope.record.compute.batch import RunContext


def batch(seed=0, size=8, tokens=6, tensor=np.asarray):
    dice = np.random.default_rng(seed)
    logp = -dice.random((size, tokens))
    return {
        "logp": tensor(logp),
        "old_logp": tensor(logp + 0.1 * dice.standard_normal((size, tokens))),
        "action_mask": tensor(np.ones((size, tokens))),
        "advantages": tensor(dice.standard_normal(size)),
        "reward": tensor(dice.integers(0, 2, size).astype(float)),
        "group": np.repeat(np.arange(size // 4), 4),
        "clip_low": 0.2,
        "clip_high": 0.2,
    }


@pytest.mark.parametrize("tensor", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
def test_log_batch_records_what_compute_returns(init, recorded, tensor):
    given = batch(tensor=tensor)
    expected = {name: partial.value for name, partial in compute(given).items()}
    run = init()
    run.log_batch(given, step=5)
    run.finish()
    got = recorded(run)
    assert set(expected) <= {name for name, step in got.values if step == 5} and len(expected) > 20 and not run.losses
    for name, value in expected.items():
        assert got.values[name, 5] == [pytest.approx(value, nan_ok=True)], name


def test_a_change_in_place_after_the_call_changes_nothing(init, recorded):
    given = batch(tensor=torch.as_tensor)
    expected = compute(given)["policy/entropy_sampled"].value
    run = init()
    run.log_batch(given, step=0)
    given["logp"].zero_()
    given["reward"] += 100
    run.finish()
    got = recorded(run)
    assert got.values["policy/entropy_sampled", 0] == [pytest.approx(expected)] and got.values["reward/max", 0] == [1.0]


def test_no_graph_is_kept(init):
    import gc
    import weakref

    run = init()
    weights = torch.ones(8, 6, requires_grad=True)
    alive = weakref.ref(weights)
    given = batch(tensor=torch.as_tensor) | {"logp": -weights * 2}
    run.log_batch(given, step=0)
    del weights, given
    gc.collect()
    assert alive() is None
    run.finish()


def test_unknown_keys_are_reported_once_and_the_rest_is_computed(init, recorded, capfd):
    run = init()
    for step in range(3):
        run.log_batch(batch() | {"rewrad": np.zeros(8), "returns": np.zeros((3, 3))}, step=step)
    run.finish()
    err = capfd.readouterr().err
    assert err.count("'rewrad'") == 1 and "Did you mean 'reward" in err and err.count("'returns'") == 1
    assert recorded(run).values["reward/mean", 2]


def test_each_environment_gets_its_own_metrics(init, recorded):
    given = batch() | {"env": ["maths"] * 4 + ["code"] * 4}
    run = init()
    run.log_batch(given, step=0)
    run.finish()
    means = {}
    for block in recorded(run).metrics:
        if "reward/mean" in block.names:
            means[block.labels.env] = block.values[0, block.names.index("reward/mean")]
    reward = given["reward"]
    assert means == {None: reward.mean(), "maths": reward[:4].mean(), "code": reward[4:].mean()}


def test_declared_ranges_reach_the_definitions(init, recorded):
    run = init()
    ranges = {"metrics_ranges": {"format": (0, 1)}, "ranges": {"custom/x": (0, 2)}}
    run.declare(env="maths", reward_min=-1, reward_max=1, **ranges)
    run.log_batch(batch() | {"reward": np.array([1.0] * 4 + [-1.0] * 4), "env": "maths"}, step=0)
    run.finish()
    got = recorded(run)
    assert got.values["group/all_pass", 0] == [0.5] and got.values["group/all_fail", 0] == [0.5]
    declared = [row["declared"] for row in got.rows["runs"] if "declared" in row][-1]
    assert declared["environments"]["maths"]["reward_max"] == 1 and declared["ranges"] == {"custom/x": [0, 2]}


def test_a_misspelt_declaration_is_rejected_with_the_nearest_key(init, recorded, capsys):
    run = init()
    run.declare(env="maths", reward_maximum=2, reward_min=0)
    run.finish()
    declared = [row["declared"] for row in recorded(run).rows["runs"] if "declared" in row][-1]
    assert declared["environments"]["maths"] == {"reward_min": 0}
    assert "declare() has no 'reward_maximum'. Did you mean 'reward_max'" in capsys.readouterr().err


def test_pass_rates_of_tasks_are_those_of_earlier_steps():
    context = RunContext()
    context.declared["e"] = {"reward_min": 0, "reward_max": 1}
    first = {"task": ["a", "a", "b"], "reward": np.array([1.0, 0.0, 0.0])}
    assert np.isnan(context.add_to(dict(first), 0)["task_pass_rate"]).all()
    context.learn(first, 0)
    assert np.isnan(context.add_to(dict(first), 0)["task_pass_rate"]).all(), "the same step is not earlier"
    rates = context.add_to({"task": ["b", "a", "c"]}, 1)["task_pass_rate"]
    assert rates.tolist() == pytest.approx([0.0, 0.5, np.nan], nan_ok=True)


def test_the_expected_share_appears_with_the_second_attempt(init, recorded):
    run = init()
    run.declare(reward_min=0, reward_max=1)
    for step in range(2):
        run.log_batch(batch() | {"task": np.repeat(["x", "y"], 4)}, step=step)
    run.finish()
    values, name = recorded(run).values, "group/zero_spread_expected"
    assert np.isnan(values.get((name, 0), [np.nan])[0]) and 0 <= values[name, 1][0] <= 1


def test_batches_that_wait_too_long_for_the_worker_are_counted(init, monkeypatch):
    import threading

    go = threading.Event()
    monkeypatch.setattr("rollscope.record.compute.batch.compute_all", lambda *_: go.wait() and [(None, {})])
    monkeypatch.setattr("rollscope.record.compute.worker.BOUND", 10_000)
    run = init()
    for step in range(20):
        run.log_batch({"logp": np.zeros((10, 25)), "seconds": {"a": 1.0}}, step=step)  # 2 kB
    go.set()
    run.finish()
    assert 13 <= sum(n for loss, n in run.losses.items() if "waiting to be computed" in loss) <= 16


def tokens(size):
    return {"prompt_tokens": np.full(size, 2.0), "completion_tokens": np.full(size, 3.0)}


def test_counters_go_on_from_step_to_step_and_survive_a_resume(init, recorded):
    first = init(id="r")
    for step in range(4):
        first.log_batch(tokens(4), step=step)
        first.log_batch(tokens(4), step=step)
    first.finish()
    second = init(id="r", resume=1)
    second.log_batch(tokens(4), step=2)
    second.finish()
    got, totals = recorded(second), {}
    for block in got.metrics:
        if "counter/tokens" in block.names:
            column = block.values[:, block.names.index("counter/tokens")]
            for step, value in zip(block.step.tolist(), column.tolist(), strict=True):
                totals.setdefault((block.labels.attempt, step), []).append(value)
    assert totals[1, 0] == [20.0, 20.0] and totals[1, 3] == [140.0, 140.0], "two micro-batches, 20 tokens each"
    assert totals[2, 2] == [100.0], "80 tokens up to step 1, and 20 now"
    last = [row for row in got.rows["steps"] if "tokens" in row and row["attempt"] == 1][-1]
    assert (last["step"], last["tokens"], last["samples"]) == (3, 160, 32)


@pytest.mark.parametrize(
    "tensor",
    [np.asarray, torch.as_tensor, lambda x: [*torch.as_tensor(x)]],
    ids=["numpy", "torch", "a list of tensors"],
)
def test_a_part_that_is_too_large_to_copy_is_left_out_and_reported(init, recorded, monkeypatch, capfd, tensor):
    monkeypatch.setattr("rollscope.record.caller.batch.MOST_BYTES", 100_000)
    given = batch() | {"logits": tensor(np.random.default_rng(0).standard_normal((8, 6, 500)))}  # 192 kB
    expected = compute({key: value for key, value in given.items() if key != "logits"})
    run = init()
    run.log_batch(given, step=0)
    run.log_batch(given, step=1)
    run.finish()
    got = recorded(run)
    assert {name for name, _ in got.values} == set(expected)
    assert got.values["policy/entropy_sampled", 0] == [pytest.approx(expected["policy/entropy_sampled"].value)]
    assert got.losses == {"parts of batches": 2} and capfd.readouterr().err.count("'logits' has 0.0 GB") == 1


def test_the_largest_parts_are_left_out_first(init, recorded, monkeypatch):
    monkeypatch.setattr("rollscope.record.caller.batch.MOST_BYTES", 30_000)
    given = batch(size=8, tokens=400)  # four arrays of 25.6 kB
    run = init()
    run.log_batch(given, step=0)
    run.finish()
    got = recorded(run)
    assert got.losses == {"parts of batches": 2} and got.values["reward/max", 0] == [1.0]
