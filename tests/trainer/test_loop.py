"""The loop's promises.

The same seed gives the same numbers, workers run ahead, late requests are cancelled, a dead worker
ends the run with a sentence, and a run can always be read.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rollscope as rs  # noqa: E402
from rollscope.errors import NotFound  # noqa: E402
from rollscope.notify.resume import checkpoints  # noqa: E402
from rollscope.notify.stop import ask, hears, requested  # noqa: E402
from rollscope.store.log import open_spans  # noqa: E402
from rollscope.trainer import config  # noqa: E402
from rollscope.trainer.orchestrator import Starved  # noqa: E402
from rollscope.trainer.rollouts.workers import Processes, WorkerDied  # noqa: E402
from rollscope.trainer.train import OutOfMemory, train  # noqa: E402
from rollscope.views.summary.run_row import run_row  # noqa: E402

from .conftest import CASES, Trained, table, trained  # noqa: E402

ROOT = Path(__file__).parents[2]
BROKEN = Path(__file__).with_name("broken_parts.py")
CLOCKS = ("time", "sample_time", "perf/", "host", "timing", "counter/seconds", "pipeline/seconds")


def numbers(run) -> dict[str, list[float]]:
    """Every series that does not measure time."""
    timed = ("seconds", "throughput")
    names = [n for n in run.last if not n.startswith(CLOCKS) and not any(word in n for word in timed)]
    return {name: list(run.values(name).values()) for name in names}


def test_the_same_seed_gives_the_same_numbers(runs, tmp_path):
    first, second = numbers(runs["grpo"]), numbers(trained(CASES["grpo"], tmp_path))
    assert len(first) > 300 and set(first) == set(second)
    assert [name for name in first if not np.array_equal(first[name], second[name], equal_nan=True)] == []


def test_another_seed_gives_other_numbers(runs, tmp_path):
    other = trained(table(algorithm=CASES["grpo"]["algorithm"], run={"steps": 2, "seed": 1}), tmp_path)
    assert other.values("policy/entropy")[1] != runs["grpo"].values("policy/entropy")[1]


@pytest.fixture(scope="module")
def ahead(tmp_path_factory):
    """Two workers far ahead of the trainer, one of them slow: stale groups and stragglers."""
    rollout = {"workers": 2, "groups_per_step": 4, "groups_per_request": 2, "max_completion_tokens": 12}
    limits = {"max_async": 3, "max_off_policy_steps": 0, "straggler_seconds": 0.6}
    built = config.build(
        table(
            environment={"name": "guessing", "options": {"largest": 5}},
            model={"context": 48},
            run={"steps": 8},
            rollout=rollout | limits,
            failure={"name": "slow_worker", "start": 0},
            evaluation={"every": 5, "tasks": 4},
        )
    )
    built.failure.faults.worker_delay = 0.8
    folder, reports = tmp_path_factory.mktemp("ahead"), Processes.reports

    def when_both_have_begun(pool, timeout):
        """Else one of them could do all the work before the other has started."""
        if not folder.joinpath("begun").exists():
            assert all(pipe.poll(240) for pipe in pool.pipes)
            folder.joinpath("begun").touch()
        return reports(pool, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Processes, "reports", when_both_have_begun)
        return rs.open(folder).run(train(built, dir=folder))


def test_what_the_trainer_and_a_worker_do_now_is_seen_while_they_do_it(tmp_path):
    chosen = config.build(table(rollout={"workers": 1}, evaluation={"every": 0}, run={"steps": 1}))
    chosen.failure.faults.generate_delay = 8.0
    seen, over = set(), threading.Event()

    def watch():
        while not over.wait(0.1):
            for facts in tmp_path.glob("*/run.json"):
                for rows in open_spans.read(str(facts.parent)).values():
                    seen.update((row["lane"], row["name"], row["kind"]) for row in rows)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        train(chosen, dir=tmp_path)
    finally:
        over.set()
        watcher.join(60)
    assert {("trainer/0", "waiting_for_data", "wait"), ("inference/0", "generate", "work")} <= seen
    assert rs.open(tmp_path).run().open_spans() == []


def test_workers_run_ahead_and_late_groups_are_discarded_with_a_reason(ahead):
    columns = ["trained", "discard_reason", "off_policy_steps", "stop_reason", "error"]
    rows = ahead.samples(where="split = 'train'", columns=columns)
    known = np.array([value is not None for value in rows["trained"]])
    fate = rows["trained"][known].astype(bool)
    assert fate.sum() == 8 * 4 * 4
    assert set(rows["discard_reason"][known][~fate]) <= {"max_async", "zero_advantage", "cancelled"}
    assert max(rows["off_policy_steps"][known][fate]) == 0, "only groups within max_off_policy_steps are trained on"
    stale = rows["discard_reason"][known] == "max_async"
    assert stale.any() and min(rows["off_policy_steps"][known][stale]) > 0


def test_the_pipeline_counts_every_settled_sample_once(ahead):
    """Stale groups wait in the buffer for several polls and several steps."""

    def values(name):
        return ahead.series(name)["value"].tolist()

    generated, discarded = values("samples/generated"), values("discarded/share")
    entered, left = values("pipeline/in"), values("pipeline/out")
    assert entered == generated and max(discarded) > 0
    assert left == values("samples/trained") == [16.0] * 8
    assert values("pipeline/filtered") == [a - b for a, b in zip(entered, left, strict=True)]
    assert values("pipeline/dropped_share") == pytest.approx(discarded)
    operators = [m for m in ahead.metrics()["name"] if m.startswith("pipeline/operator/") and m.endswith("/kept_share")]
    assert any("drop_stale" in name for name in operators)
    assert all(0 <= share <= 1 for name in operators for share in values(name))


def test_a_straggler_is_cancelled_and_recorded(ahead):
    rows = ahead.samples(where="stop_reason = 'cancelled'", columns=["discard_reason", "trained", "score"])
    assert len(rows["trained"]) and set(rows["discard_reason"]) == {"cancelled"}
    assert not any(rows["trained"]) and all(score is None or math.isnan(score) for score in rows["score"])


def test_each_worker_has_a_lane_and_both_sides_of_a_weight_sync_are_recorded(ahead):
    spans = ahead.spans()
    lanes = set(zip(spans["lane"].tolist(), spans["name"].tolist(), strict=True))
    for name in ("generate", "sync_weights"):
        assert {("inference/0", name), ("inference/1", name)} <= lanes
    assert {("trainer/0", "sync_weights"), ("trainer/0", "waiting_for_data"), ("eval/0", "evaluate")} <= lanes


def test_spans_link_a_sample_to_its_batch_its_update_and_the_next_generation(ahead):
    rows = ahead.spans()
    key = {f"{w}:{i}": at for at, (w, i) in enumerate(zip(rows["writer"], rows["id"], strict=True))}
    causes = {
        (rows["name"][at], rows["name"][key[cause]]) for at, some in enumerate(rows["causes"]) for cause in some or ()
    }
    chain = ["generate", "env_response", "reward", "prepare_tensors"]
    assert {(effect, cause) for cause, effect in itertools.pairwise(chain)} <= causes
    assert {("sync_weights", "optimizer"), ("sync_weights", "sync_weights"), ("generate", "sync_weights")} <= {
        (effect, cause) for effect, cause in causes
    }


def test_a_sample_has_a_slot_of_its_worker_with_version_and_queue(ahead):
    rows = ahead.spans()
    decode = rows["name"] == "decode"
    assert decode.any() and all(lane.count("/") == 2 for lane in rows["lane"][decode])
    queued = [(q, s) for q, s in zip(rows["queued_ns"][decode], rows["start_ns"][decode], strict=True) if q is not None]
    assert queued and all(q <= s for q, s in queued), "the first turn of a sample waited in a queue"
    assert all(version >= 0 for version in rows["version"][decode])
    known = set(ahead.samples(columns=["id"])["id"])
    assert set(rows["sample"][decode]) <= known
    assert "time/decode" not in ahead.derived(), "the worker's own span has counted these seconds"


def test_a_multi_turn_sample_can_use_several_policy_versions(ahead):
    rows = ahead.samples(where="split = 'train'", columns=["policy_version_min", "policy_version_max", "turns"])
    assert (rows["policy_version_max"] >= rows["policy_version_min"]).all()
    assert max(rows["turns"]) > 1


def test_a_worker_that_dies_ends_the_run_with_a_sentence(tmp_path):
    failure = {"name": "worker_crash", "start": 2}
    crashing = table(rollout={"workers": 1}, failure=failure, evaluation={"every": 0}, run={"steps": 20})
    sentence = r"rollout worker 0 \(process \d+\) ended with exit code 1: worker 0 was told to die at step"
    with pytest.raises(WorkerDied, match=sentence):
        train(config.build(crashing), dir=tmp_path)
    (record,) = rs.open(tmp_path).runs()
    assert record["state"] == "crashed" and "rollout worker 0" in record["reason"]
    reader = rs.open(tmp_path).run(record["id"])
    assert len(reader.series("policy/entropy")["step"]) >= 2, "earlier steps are recorded"


def test_a_reward_that_raises_is_an_error_and_not_a_zero(tmp_path):
    failing = table(failure={"name": "dead_reward", "start": 2}, evaluation={"every": 0})
    with pytest.raises(Starved, match=r"found nothing to train on.* for error.*the reward function lost its judge"):
        train(config.build(failing), dir=tmp_path)
    (record,) = rs.open(tmp_path).runs()
    assert record["state"] == "crashed" and "lost its judge" in record["reason"]
    columns = ["error", "stop_reason", "discard_reason", "score", "reward", "trained"]
    rows = rs.open(tmp_path).run(record["id"]).samples(where="error IS NOT NULL", columns=columns)
    assert len(rows["error"]) > 100
    assert set(rows["stop_reason"]) == {"error"} and set(rows["discard_reason"]) == {"error"}
    assert not any(rows["trained"])
    assert all(value is None or math.isnan(value) for value in [*rows["score"], *rows["reward"]])


def test_answers_whose_environment_raises_are_left_out(tmp_path):
    environment = {"name": f"{BROKEN}:Dying", "train_tasks": 50, "options": {}}
    run = trained(table(environment=environment, run={"steps": 3}, evaluation={"tasks": 4}), tmp_path)
    rows = run.reader.samples(where="split = 'train'", columns=["error", "trained", "score"])
    failed = np.array([error is not None for error in rows["error"]])
    assert failed.any() and not failed.all()
    assert all("ZeroDivisionError: the judge is gone (broken_parts.py:" in error for error in rows["error"][failed])
    assert not any(rows["trained"][failed])
    assert run.last["discarded/reason/error"] > 0


def test_running_out_of_memory_is_answered_with_a_sentence_and_marks_the_run(tmp_path):
    hungry = table(algorithm={"backend": f"{BROKEN}:Hungry"}, evaluation={"every": 0})
    with pytest.raises(OutOfMemory, match=r"out of memory: tried to allocate 80 GiB. Lower algorithm.microbatch"):
        train(config.build(hungry), dir=tmp_path)
    (record,) = rs.open(tmp_path).runs()
    assert record["state"] == "crashed" and "out of memory" in record["reason"] and record["step"] == 0


def test_a_step_with_a_nan_loss_is_skipped_and_counted(tmp_path):
    run = trained(table(failure={"name": "nan_loss", "start": 1}, run={"steps": 3}, evaluation={"every": 0}), tmp_path)
    norms = run.values("optimiser/grad_norm")
    assert math.isnan(norms[1]) and math.isfinite(norms[2])
    assert run.values("optimiser/skipped") == {0: 0.0, 1: 2.0, 2: 2.0}


def test_a_run_resumes_from_its_checkpoint(tmp_path):
    full = table(run={"steps": 6}, checkpoint={"every": 3})
    straight = trained(full, tmp_path / "straight")
    first = config.build(table(run={"steps": 3}, checkpoint={"every": 3}, evaluation={"every": 6}))
    half = train(first, dir=tmp_path / "half")
    assert train(config.build(full), dir=tmp_path / "half", resume=half) == half
    reader = rs.open(tmp_path / "half").run(half)
    series = reader.series("policy/entropy")
    assert series["step"].tolist() == list(range(6))
    expected = list(straight.values("policy/entropy").values())
    assert series["value"].tolist() == pytest.approx(expected, rel=1e-6), "a resumed run has the same numbers"
    samples = [np.nanmax(run.steps()["samples"]) for run in (reader, straight.reader)]
    assert samples[0] == samples[1], "counters continue after a resume"


def test_resuming_without_a_checkpoint_is_answered_with_a_sentence(tmp_path):
    run = rs.init(project="x", dir=tmp_path, host=False)
    run.finish()
    with pytest.raises(NotFound, match="there is no checkpoint to resume from"):
        train(config.build(table()), dir=tmp_path, resume=run.id)
    assert rs.open(tmp_path).runs()[0]["state"] == "finished", "a failed resume changes nothing"


KL = {"kl_coef": 0.1, "kl_estimator": "k2"}


@pytest.mark.parametrize(
    "algorithm",
    [
        *({"advantage": name} for name in ("dr_grpo", "rloo", "reinforce_pp", "reinforce_pp_baseline")),
        {"ratio_level": "sequence", "loss_agg": "seq_mean_token_sum_norm", "epochs": 2, "clip_c": 3.0} | KL,
        {"kl_in": "reward", "kl_coef": 0.1, "kl_estimator": "k3", "loss_agg": "seq_mean_token_mean"},
        {"name": "dpo", "loss": "kto"},
        {"name": "dpo", "loss": "simpo"},
    ],
    ids=lambda algorithm: "-".join(map(str, algorithm.values())),
)
def test_every_variant_takes_a_step(tmp_path, algorithm):
    short = {"run": {"steps": 1}, "warmup": {"steps": 8}, "evaluation": {"every": 0}}
    rollout = {"discard_group_zero_advantage": False}
    run = trained(table(algorithm=algorithm, rollout=rollout, **short), tmp_path)
    assert math.isfinite(run.last["policy/loss_total"] if "name" not in algorithm else run.last["preference/loss"])
    assert run.last["optimiser/grad_norm"] > 0


def test_the_example_with_two_environments_and_two_evaluation_sets_works(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    changes = ["run.steps=2", "warmup.steps=10", "rollout.discard_group_zero_advantage=false", "evaluation.tasks=3"]
    run = Trained(rs.open(tmp_path).run(train(config.read("examples/lookup.toml", changes), dir=tmp_path)))
    assert set(run.reader.samples(where="split = 'train'", columns=["env"])["env"]) == {"lookup", "reverse"}
    assert {"eval/lookup-eval/acc/mean@4/std", "eval/longer-words/acc/mean@4", "custom/weights/norm"} <= set(run.last)
    assert run.reader.declared["ranges"]["custom/weights/moved"] == [0.0, 1.0]
    rows = run.reader.samples(where="env = 'lookup'", columns=["sample_metrics", "answer"])
    assert rows["sample_metrics"][0]["reason"].startswith("asked for") and len(rows["answer"][0]) == 1


def test_a_custom_environment_and_a_custom_backend_from_the_examples_work(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    changes = ["run.steps=3", "warmup.steps=20", "rollout.groups_per_step=4", "evaluation.every=0"]
    built = config.read("examples/reverse.toml", changes)
    reader = rs.open(tmp_path).run(train(built, dir=tmp_path))
    names = set(reader.metrics()["name"])
    assert {"custom/weights/norm", "custom/weights/moved", "sample_metric/right_length/generated/mean"} <= names
    assert len(Path("examples/reverse.py").read_text().splitlines()) <= 40


def command(*words: str, **more) -> subprocess.CompletedProcess[str]:
    train = [sys.executable, "-m", "rollscope", "train", *words]
    return subprocess.run(train, capture_output=True, text=True, timeout=500, **more)


def test_the_command_answers_a_wrong_configuration_with_one_line(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text("[rollout]\nrepeat = 4\n")
    done = command(str(path), "--dir", str(tmp_path / "runs"))
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "no key 'repeat' in [rollout]. Did you mean 'repeats'" in done.stderr
    assert not (tmp_path / "runs").exists(), "a wrong configuration starts no run"


def test_ctrl_c_leaves_a_run_that_can_be_read_and_resumed(tmp_path):
    folder = tmp_path / "runs"
    path = tmp_path / "long.toml"
    path.write_text(
        '[environment]\nname = "sorting"\n[warmup]\nsteps = 5\n[run]\nsteps = 100000\n'
        "[checkpoint]\nevery = 2\n[rollout]\nworkers = 1\n[evaluation]\nevery = 0\n"
    )
    train = [sys.executable, "-m", "rollscope", "train", str(path), "--dir", str(folder), "--json"]
    process = subprocess.Popen(train, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 300
        while not list(folder.glob("*/checkpoint/last.pt")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        _, printed = process.communicate(timeout=200)
    finally:
        process.kill()  # its workers end with it
        process.wait()
    assert process.returncode == 130 and "stopped; the run can be read up to here" in printed
    (record,) = rs.open(folder).runs()
    assert record["state"] != "running" and rs.open(folder).run(record["id"]).series("policy/entropy")["step"][0] == 0


def test_the_command_trains_and_names_its_run(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(
        '[environment]\nname = "gym"\noptions = {envs = 2}\n[algorithm]\nname = "ppo"\n'
        "[run]\nsteps = 2\n[evaluation]\nevery = 0\n"
    )
    done = command(str(path), "--dir", str(tmp_path / "runs"), "--json")
    assert done.returncode == 0, done.stderr
    assert rs.open(tmp_path / "runs").run(json.loads(done.stdout)["run"]).state == "finished"


@pytest.mark.parametrize("case", ["grpo", "dpo", "embodied"])
def test_a_run_that_has_no_time_takes_one_step(case, tmp_path):
    short = {"run": {"steps": 50, "seconds": 1e-9}, "warmup": {"steps": 5}, "evaluation": {"every": 0, "tasks": 6}}
    seen = []
    train(config.build(CASES[case] | short), dir=tmp_path, on_step=seen.append)
    run, said = (
        rs.open(tmp_path).run(),
        "stopped after 1 of 50 steps, because its 1e-09 seconds (run.seconds) were over",
    )
    assert [(now.step, now.short) for now in seen] == [(1, said)] and run.state == "finished"
    assert said in [text for text in run.notes()["text"]]


@pytest.mark.parametrize("prefix", ["eval", "val", "bench"])
def test_the_list_counts_the_steps_that_the_training_says(prefix, tmp_path):
    """The evaluation after the last update has a step of its own, at which nothing trained."""
    evaluation = {"every": 20, "tasks": 2, "prefix": prefix}
    short = {"run": {"steps": 50, "seconds": 1e-9}, "warmup": {"steps": 5}, "evaluation": evaluation}
    seen = []
    train(config.build(CASES["grpo"] | short), dir=tmp_path, on_step=seen.append)
    run = rs.open(tmp_path).run()
    assert [now.step for now in seen] == [run_row(run.id, run)["steps"]] == [1] and len(run.steps()["step"]) == 2


@pytest.mark.parametrize("words", [(), ("--json",)], ids=["with a bar", "for a program"])
@pytest.mark.parametrize(("seconds", "says"), [(1e-9, 1), (0, 0)], ids=["stops short", "comes to its end"])
def test_the_command_says_once_that_it_stopped_short(tmp_path, words, seconds, says):
    path = tmp_path / "tiny.toml"
    path.write_text(
        '[environment]\nname = "gym"\noptions = {envs = 2}\n[algorithm]\nname = "ppo"\n'
        f"[run]\nsteps = 2\nseconds = {seconds}\n[evaluation]\nevery = 0\n"
    )
    done = command(str(path), "--dir", str(tmp_path / "runs"), *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("stopped after 1 of 2 steps, because its 1e-09 seconds (run.seconds) were over") == says
    assert done.stderr.count("stopped") == says


@pytest.mark.parametrize("case", ["grpo", "dpo", "embodied"])
def test_a_request_to_stop_ends_the_run_after_a_checkpoint_and_not_its_next_attempt(case, tmp_path):
    long = CASES[case] | {"run": {"steps": 4000}, "evaluation": {"every": 0, "tasks": 6}}
    steps = []

    def ask_once(progress):
        steps.append(progress.step)
        run = rs.open(tmp_path).run()
        if hears(run) and requested(run) is None:
            ask(run, "enough", "a test")

    run = trained(long, tmp_path, on_step=ask_once).reader
    assert run.facts["reason"] == "stopped as asked: enough" and steps[-1] < 4000
    assert checkpoints(run) == [steps[-1]]
    more = long | {"run": {"steps": steps[-1] + 2}}
    train(config.build(more), dir=tmp_path, resume=run.id, on_step=lambda p: steps.append(p.step))
    assert steps[-2:] == [steps[-3] + 1, steps[-3] + 2]
