"""Odd input costs itself alone: whatever is passed anywhere, every good row is there, each once.

Every place of the public calls gets every poison, between good calls. Then the run is read back,
with `scan` alone and as a reader does.
"""

import pytest

import rollscope as rs
from rollscope.catalog.partials.partial import Mean
from tests.record.poisons import POISONS, Endless, Raising, torch_values

FIELDS = (
    *("id", "step", "group", "task", "repeat", "env", "split", "prompt", "completion", "messages", "turns"),
    *("tool_calls", "reward", "rewards", "sample_metrics", "tags", "trained", "stop_reason", "token_ids", "logp"),
    *("extra", "media", "error", "tokens", "unknown"),
)


def sample(name, **more):
    return {"id": f"s{name}", "reward": 1.0, "completion": "good", **more}


def keyed(run, poison, step):
    try:
        metrics = {"good": 1.0, poison: 2.0, "also": Raising()}
    except Exception:  # it cannot be a key at all
        metrics = {"good": 1.0}
    run.log(metrics, step)


PLACES = {  # where the poison goes; `good`, `also` and the sample s<step> are passed in the same call
    "log: value": lambda run, p, step: run.log({"good": 1.0, "bad": p, "also": Mean(1.0, 2.0)}, step),
    "log: key": keyed,
    "log: nested": lambda run, p, step: run.log({"good": 1.0, "nest": {"bad": p, "inner": 2.0}}, step),
    "log: env": lambda run, p, step: run.log({"good": 1.0}, step, env=p),
    "log: split": lambda run, p, step: run.log({"good": 1.0}, step, split=p),
    "log: clock": lambda run, p, step: run.log({"good": 1.0}, step, clock=p),
    "log: step": lambda run, p, step: [run.log({"poisoned": 1.0}, p), run.log({"good": 1.0}, step)],
    "log: everything": lambda run, p, step: [run.log(p, step), run.log({"good": 1.0}, step)],
    "log_samples: an item": lambda run, p, step: run.log_samples([p, sample(step), p], step),
    "log_samples: everything": lambda run, p, step: [
        run.log_samples(p, step) if not isinstance(p, (Endless, str, bytes)) else None,
        run.log_samples([sample(step)], step),
    ],
    "log_samples: common": lambda run, p, step: run.log_samples([sample(step)], step, tags=p, odd=p, task=p),
    "log_samples: columns": lambda run, p, step: run.log_samples(
        {"id": [f"s{step}"], "completion": ["good"], "reward": [1.0], "tags": p, "odd": [p], "task": [p]}, step
    ),
    "log_samples: key": lambda run, p, step: run.log_samples([with_key(sample(step), p)], step),
    "log_samples: turn": lambda run, p, step: run.log_samples([sample(step, turns=[p, "said", {"content": p}])], step),
    "log_eval: row": lambda run, p, step: run.log_eval("set", [p, {"task": "t", "score": 1.0}, p], step),
    "log_eval: values": lambda run, p, step: run.log_eval(
        "set", [{"task": p, "repeat": p, "scores": {"a": p, "b": 1.0}, "answer": p, "sample": p, "seconds": p}], step
    ),
    "log_eval: labels": lambda run, p, step: run.log_eval(p, [{"task": 1, "score": 1.0}], step, prefix=p, detailed=1),
    "span": lambda run, p, step: span(run, p, step),
    "log_span": lambda run, p, step: run.log_span(p, 1, 2, p, kind=p, step=step, odd=p, group=p, microbatch=p),
    "log_span: times": lambda run, p, step: run.log_span("bad", p, p, step=p),
    "note": lambda run, p, step: run.note("good", step, kind=p, odd=p),
    "note: text": lambda run, p, step: run.note(p, p),
    "declare": lambda run, p, step: run.declare(p, reward_min=p, reward_max=p, odd=p),
    "declare: ranges": lambda run, p, step: run.declare(ranges=p, metrics_ranges={"a": p, "b": (0, p)}),
    "describe": lambda run, p, step: run.describe(tags=p, config={"a": p}, steps_planned=p, name=p, odd=p),
    "commit": lambda run, p, step: [run.commit(step, tokens=p, epoch=p), run.commit(p)],
    "log_batch: value": lambda run, p, step: run.log_batch({"reward": [1.0, 0.0], "score": p, "odd": p}, step),
    "log_batch: labels": lambda run, p, step: run.log_batch({"reward": [1.0, 0.0], "env": p, "task": [p, p]}, step),
    "log_batch: everything": lambda run, p, step: [run.log_batch(p, step), run.log_batch(with_key({}, p), step)],
    "reduce": lambda run, p, step: run.reduce(p) if step < 4 else None,
}
KEEPS_NUMBERS = {name for name in PLACES if name.startswith("log:")}
KEEPS_SAMPLES = {name for name in PLACES if name.startswith("log_samples")}


def with_key(values, key):
    try:
        return {**values, key: 1.0}
    except Exception:
        return values


def span(run, poison, step):
    with run.span(poison, lane=poison, kind=poison, step=step, odd=poison, sample=poison) as opened:
        opened.data["more"] = poison


def good_calls(run, step):
    run.log({"between": float(step), "mean": Mean(float(step), 1.0)}, step=step)
    run.log({"of env": float(step)}, step=step, env="e")
    run.log_samples([{"id": f"between {step}", "reward": 0.5}], step=step)
    run.note(f"between {step}", step=step)
    with run.span("between", step=step):
        pass


def read_everything(folder):
    """What any reader asks. Raises if the run cannot be read."""
    run = rs.open(folder.parent).run(folder.name)
    for name in run.metrics()["name"]:
        run.series(name)
    run.samples()
    run.spans()
    run.evals()
    for table in ("metrics", "samples", "turns", "notes", "runs", "steps", "evals", "spans"):
        run.sql(f"select * from {table}")
    return run.damage


@pytest.mark.parametrize("place", PLACES)
def test_an_odd_value_costs_itself_alone(init, recorded, place):
    run = init()
    poisons = {**POISONS, **torch_values()}
    for step, make in enumerate(poisons.values()):
        good_calls(run, step)
        PLACES[place](run, make(), step)
    good_calls(run, len(poisons))
    whole = run.flush(120)
    lost = {what for loss in run.losses if (what := loss.partition(":")[0]) != "reductions"}
    assert whole is not bool(lost), run.losses
    assert run.flush(120), "nothing was lost since"
    run.finish()
    got = recorded(run)
    assert not got.damage
    steps = range(len(poisons) + 1)
    for name in ("between", "mean", "of env"):
        assert {step: got.values[name, step] for step in steps} == {step: [float(step)] for step in steps}, name
    ids = [row["id"] for row in got.rows["samples"]]
    assert [ids.count(f"between {step}") for step in steps] == [1] * len(steps)
    texts = [row.get("text") for row in got.rows["notes"]]
    assert [texts.count(f"between {step}") for step in steps] == [1] * len(steps)
    assert [row["step"] for row in got.rows["spans"] if row["name"] == "between"] == [*steps]
    if place in KEEPS_NUMBERS:
        assert all(got.values["good", step] == [1.0] for step in steps[:-1])
    if place in KEEPS_SAMPLES:
        assert [ids.count(f"s{step}") for step in steps[:-1]] == [1] * len(poisons)
    assert not read_everything(run.folder)


@pytest.mark.parametrize("field", FIELDS)
def test_an_odd_field_of_a_sample_costs_itself_alone(init, recorded, field):
    run = init()
    for step, make in enumerate(POISONS.values()):
        run.log_samples([sample(f"{step}a"), sample(f"{step}b", **{field: make()}), sample(f"{step}c")], step)
    whole = run.flush(120)
    assert whole is not bool(run.losses)
    assert run.flush(120), "nothing was lost since"
    run.finish()
    got = recorded(run)
    rows = {row["id"]: row for row in got.rows["samples"]}
    assert len(got.rows["samples"]) == 3 * len(POISONS)
    for step in range(len(POISONS)):
        assert all(rows[f"s{step}{which}"]["completion"] == "good" for which in "ac")
    if field not in ("id", "completion"):
        assert all(rows[f"s{step}b"]["completion"] == "good" for step in range(len(POISONS)))
    assert not got.damage and not read_everything(run.folder)
