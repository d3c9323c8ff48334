"""Dumps go into the run that has the numbers, so that a point of a chart leads to its samples."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.errors import CannotWrite
from rollscope.sources import Points
from rollscope.sources.intake.follow.followed import Followed
from rollscope.sources.intake.follow.watch import Watch
from rollscope.sources.intake.guest.into import Into
from rollscope.sources.intake.guest.rollout import Rollout
from rollscope.sources.intake.importer import Importer
from rollscope.sources.intake.writing import Busy, Gone
from rollscope.store.log import lock
from rollscope.store.seal.compact import compact
from rollscope.store.seal.logs import seal
from rollscope.store.store import open as stored  # without derived series
from tests.recorded import DUMPS, held, recorded
from tests.sources import good_files
from tests.sources.dump_files import CHAT, WRITERS, slime_samples, write_lines
from tests.sources.test_capture import record, series

ROOT = Path(__file__).parents[2]
STEPPED = sorted(WRITERS)
# Frameworks whose dumps lack the numbers of training: these go to a tracker.
APART = {
    "slime": 'wandb.log({"rollout/raw_reward": 0.5, "rollout/response_lengths": 3.0, "rollout/step": 3})',
    "miles": 'wandb.log({"rollout/raw_reward": 0.5, "rollout/response_lengths": 3.0, "rollout/step": 3})',
    "nemo_rl": 'wandb.log({"train/reward": 0.5}, step=3)',
    "roll": 'wandb.log({"critic/score/mean": 0.5}, step=3)',
    "rllm": 'wandb.log({"batch/solver/reward": 0.5}, step=3)',
    "skyrl": 'wandb.log({"loss/avg_raw_advantages": -0.2828}, step=3)',
    "areal": 'wandb.log({"ppo_actor/task_reward/avg": 0.5}, step=3)',
}
# Frameworks whose dumps have the numbers of training: what they log of them to a tracker.
BOTH = {
    "prime_rl": ("reward/mean", 'wandb.log({"reward/mean": 0.5}, step=3)'),
    "tinker": ("env/all/reward/total", 'wandb.log({"env/all/reward/total": 0.5}, step=3)'),
    "swift": ("train/reward", 'wandb.log({"train/reward": 0.5, "train/loss": 0.1, "train/global_step": 3})'),
    "art": ("train/reward", 'wandb.log({"train/reward": 0.5, "training_step": 3})'),
}
SLIME_AXES = """
for axis in ("train", "rollout", "eval"):
    wandb.define_metric(f"{axis}/step")
    wandb.define_metric(f"{axis}/*", step_metric=f"{axis}/step")
wandb.define_metric("perf/*", step_metric="rollout/step")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a run that ended at step 3."""
    with rs.init(id="run", dir=tmp_path / "runs", host=False) as run:
        for step in (1, 2, 3):
            run.log({"reward/mean": step / 10}, step=step)
    return tmp_path / "runs"


def take(folder: Path, *paths: Path) -> int:
    return main(["import", *map(str, paths), "--into", "run", "--dir", str(folder)])


def completions(folder: Path, run: str = "run", step: int = 3) -> list[str]:
    found = rs.open(folder).run(run).samples(where=f"step = {step}")
    return sorted(text for text in found["completion"] if text)


@pytest.fixture
def following(folder: Path) -> Iterator[Importer]:
    importer = Importer(folder, live=True, into=Into("run"))
    yield importer
    importer.close()


@pytest.mark.parametrize("name", STEPPED)
def test_rollouts_of_every_framework_go_to_the_run_once(name: str, folder: Path, tmp_path: Path) -> None:
    before = rs.open(folder).runs()[0]
    WRITERS[name](tmp_path / "dumps")
    assert take(folder, tmp_path / "dumps") == 0
    found = completions(folder)
    assert len(found) >= 2 and len(rs.open(folder).runs()) == 1
    after = rs.open(folder).runs()[0]
    assert {key: before[key] for key in ("state", "started_ns", "ended_ns", "name", "project", "framework")} == {
        key: after[key] for key in ("state", "started_ns", "ended_ns", "name", "project", "framework")
    }
    assert rs.open(folder).run("run").series("reward/mean")["value"].tolist() == [0.1, 0.2, 0.3]
    assert take(folder, tmp_path / "dumps") == 0 and completions(folder) == found


def test_an_import_on_its_own_is_not_kept_from_what_went_to_a_run(folder: Path, tmp_path: Path) -> None:
    WRITERS["roll"](tmp_path / "dumps")
    alone = ["import", str(tmp_path / "dumps"), "--dir", str(folder)]
    assert take(folder, tmp_path / "dumps") == 0 and main(alone) == 0
    (own,) = {run.id for run in rs.open(folder).runs()} - {"run"}
    assert completions(folder, own) == completions(folder) and main(alone) == 0
    assert take(folder, tmp_path / "dumps") == 0 and len(rs.open(folder).runs()) == 2


def test_rows_without_a_step_are_asked_for_it_and_the_others_are_taken(
    folder: Path, tmp_path: Path, capsys: Any
) -> None:
    write_lines(tmp_path / "dumps" / "b" / "some.jsonl", {"prompt": "p", "completion": "no step"})
    write_lines(tmp_path / "dumps" / "a" / "more.jsonl", {"prompt": "p", "completion": "a step", "step": 2})
    assert take(folder, tmp_path / "dumps") == 0
    assert "some.jsonl: it does not say to which step its rows belong: give --step N" in capsys.readouterr().out
    assert completions(folder, step=2) == ["a step"] and completions(folder, step=0) == []


def test_the_run_keeps_its_own_numbers(folder: Path, tmp_path: Path, capsys: Any) -> None:
    """A name that another writer has is left out, also at a later import; the others are taken."""
    file = write_lines(tmp_path / "more.jsonl", {"step": 3, "reward/mean": 0.9, "mine/loss": 1.0})
    assert take(folder, file) == 0
    assert "left out 1 of its numbers, which the run has already: reward/mean" in capsys.readouterr().out
    with file.open("a") as more:
        more.write(json.dumps({"step": 4, "reward/mean": 0.9, "mine/loss": 2.0, "mine/new": 5.0}) + "\n")
    assert take(folder, file) == 0
    run = rs.open(folder).run("run")
    assert run.series("reward/mean")["value"].tolist() == [0.1, 0.2, 0.3]
    assert run.series("mine/loss")["value"].tolist() == [1.0, 2.0]
    assert run.series("mine/new")["value"].tolist() == [5.0]


def test_numbers_in_long_form_lose_only_the_names_that_the_run_has() -> None:
    into = Into("run", writers={"has": {"another"}, "mine": {"me"}})
    steps = np.arange(5)
    points = Points(["a", "has", "mine"], steps, steps, steps / 2, np.array([1, 0, 2, 1, 0], np.uint32))
    kept, left = into.take(points, "me")
    assert (kept.names, left) == (["a", "mine"], ["has"])
    assert [(kept.names[i], value) for i, value in zip(kept.index, kept.values, strict=True)] == [
        *[("a", 0.5), ("mine", 1.0), ("a", 2.0)]
    ]


def test_a_file_of_several_runs_is_not_mixed_into_one(folder: Path, tmp_path: Path, capsys: Any) -> None:
    take(folder, good_files.trackio(tmp_path))
    assert "it holds several runs, of which the first (dpo-tiny-" in capsys.readouterr().out
    assert main(["import", str(tmp_path), "--dir", str(tmp_path / "apart")]) == 0
    (own,) = (one.id for one in rs.open(tmp_path / "apart").runs() if one.name == "dpo-tiny")
    alone, run = (stored(at).run(id) for at, id in ((tmp_path / "apart", own), (folder, "run")))
    assert {*run.metrics()["name"]} == {*alone.metrics()["name"], "reward/mean"}


def test_tokens_without_a_sample_stay_apart(folder: Path, tmp_path: Path, capsys: Any) -> None:
    row = {"token_ids": [1, 2], "loss_mask": [0, 1], "inference_logprobs": [0.0, -1.0], "trainer_logprobs": [0.0, -1.0]}
    exported = write_lines(tmp_path / "dumps" / "token_exports" / "step_3" / "rank_0.jsonl", row)
    assert take(folder, exported) == 2
    assert "its rows do not say which samples they are of; import it without --into" in capsys.readouterr().out
    assert completions(folder) == []


def axes_of(name: str) -> str:
    axis = {"art": "training_step", "swift": "train/global_step"}.get(name)
    return f'wandb.define_metric({axis!r})\nwandb.define_metric("train/*", step_metric={axis!r})' if axis else ""


def trained(name: str, tmp_path: Path, logged: str) -> Any:
    """The run of a program that logs a number and dumps beside it."""
    (tmp_path / "dumps").mkdir()
    write_lines(tmp_path / "dumps" / "rollout_dump_data.step_1.jsonl", {"an": "older training's"})
    (tmp_path / "program.py").write_text(f"""
import sys, wandb
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from rollscope.store.store import open as stored  # without derived series
from tests.sources import good_files
from tests.sources.dump_files import WRITERS
wandb.init(project="p", name="n", config={{}})
{SLIME_AXES if "slime" in name or "miles" in name else axes_of(name)}
WRITERS[{name!r}](Path("dumps"))
{logged}
wandb.finish()
""")
    options = ("--dumps", str(tmp_path / "dumps"), "--dumps", str(tmp_path / "never"))
    done = record(tmp_path, sys.executable, "program.py", options=options, WANDB_MODE="disabled")
    assert done.returncode == 0 and "rollscope: " not in done.stderr.replace("rollscope: recorded as", ""), done.stderr
    (about,) = rs.open(tmp_path / "runs").runs()
    run = stored(tmp_path / "runs").run(about.id)
    assert about.framework == name and about.state == "finished" and recorded(run) == held(name, DUMPS)
    return run


@pytest.mark.parametrize("name", sorted({*APART} - {"skyrl"}))
def test_a_program_and_its_dumps_are_one_run(name: str, tmp_path: Path) -> None:
    """The number that is logged is the mean of the samples at its step."""
    run = trained(name, tmp_path, APART[name])
    (logged,) = [one for one in run.metrics()["name"] if "reward" in one or "score" in one]
    samples = run.samples(where="step = 3 AND split = 'train' AND reward IS NOT NULL", columns=["reward"])
    assert series(run, logged) == {3: sum(samples["reward"]) / len(samples["reward"])} == {3: 0.5}


@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("name", sorted(BOTH))
def test_numbers_of_the_dumps_are_told_once(name: str, tracked: bool, tmp_path: Path) -> None:
    """Also if the program logs them to a tracker, as Hugging Face does with a prefix."""
    metric, logged = BOTH[name]
    run = trained(name, tmp_path, logged if tracked else "")
    rewards = [one for one in run.metrics()["name"] if one.rpartition("/")[2] in ("reward", "mean", "total")]
    assert rewards == [metric if tracked or name != "swift" else "reward"]
    found = run.sql(f"SELECT step, value, clock FROM metrics WHERE name = '{rewards[0]}'")
    assert (found["step"].tolist(), found["value"].tolist(), [*found["clock"]]) == ([3], [0.5], [None])
    samples = run.samples(where="step = 3 AND split = 'train' AND reward IS NOT NULL", columns=["reward"])
    assert sum(samples["reward"]) / len(samples["reward"]) == 0.5


def test_a_tracker_that_starts_long_after_the_files_is_waited_for(tmp_path: Path) -> None:
    """ART starts W&B when it has written the numbers of the first step."""
    metric, logged = BOTH["art"]
    run = trained("art", tmp_path, f"import time; time.sleep(4); {logged}")  # several looks at the files
    writers = run.sql(f"SELECT DISTINCT writer FROM metrics WHERE name = '{metric}'")["writer"]
    assert len(writers) == 1 and series(run, metric) == {3: 0.5}


def test_the_batches_of_skyrl_are_at_the_steps_of_its_numbers(tmp_path: Path) -> None:
    """Its batches have no rewards; the mean advantage of their tokens is logged."""
    run = trained("skyrl", tmp_path, APART["skyrl"])
    samples = run.samples(where="step = 3 AND split = 'train'", columns=["token_advantages"])
    advantages = np.concatenate([*samples["token_advantages"]])
    assert series(run, "loss/avg_raw_advantages") == {3: pytest.approx(advantages.mean(), abs=1e-4)}


@pytest.mark.parametrize("batch, clock", [(8, None), (4, "train/step")])
def test_updates_of_slime_are_at_the_steps_of_its_rollouts_if_there_is_one_for_each(
    batch: int, clock: str | None, tmp_path: Path
) -> None:
    config = {"rollout_batch_size": 2, "n_samples_per_prompt": 4, "global_batch_size": batch}
    (tmp_path / "program.py").write_text(f"""
import wandb
wandb.init(project="p", name="n", config={config!r})
{SLIME_AXES}
for step in range(3):
    wandb.log({{"rollout/raw_reward": 1.0, "perf/rollout_time": 2.0, "rollout/step": step}})
    for update in range(8 // {batch}):
        wandb.log({{"train/loss": 0.5, "train/step": step * 8 // {batch} + update}})
    wandb.log({{"eval/math": 0.25, "eval/step": step}})
""")
    done = record(tmp_path, sys.executable, "program.py", WANDB_MODE="offline", WANDB_SILENT="true")
    assert done.returncode == 0, done.stderr[-2000:]
    (offline,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    assert main(["import", str(offline), "--dir", str(tmp_path / "imported")]) == 0
    for folder in ("runs", "imported"):
        run = rs.open(tmp_path / folder).run()
        for name in ("rollout/raw_reward", "perf/rollout_time", "eval/math"):
            assert run.series(name)["step"].tolist() == [0, 1, 2]
        clocks = set(run.sql("SELECT DISTINCT clock FROM metrics WHERE name = 'train/loss'")["clock"])
        assert clocks == {clock}


def test_a_half_written_file_is_no_fault_and_a_damaged_one_is(
    folder: Path, following: Importer, tmp_path: Path
) -> None:
    import torch

    dumps = tmp_path / "dumps"
    (dumps / "rollout_data").mkdir(parents=True)
    torch.save({"rollout_id": 3, "samples": slime_samples()}, tmp_path / "whole.pt")
    data = (tmp_path / "whole.pt").read_bytes()
    for end in (len(data) // 3, len(data) // 2, len(data) - 1):
        (dumps / "rollout_data" / "3.pt").write_bytes(data[:end])
        (dumps / "rollout_data" / "4.pt").write_bytes(data[: end // 2])
        assert following.take([dumps]).skipped == [] and following.waits
    (dumps / "rollout_data" / "3.pt").write_bytes(data)
    assert following.take([dumps]).skipped == [] and completions(folder) == ["4", "5 5"]
    assert {item.path.name for item in following.rest()} == {"4.pt"} and not following.waits


def test_a_line_that_is_being_written_is_no_fault(folder: Path, following: Importer, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "dumps" / "some.jsonl", {"prompt": "p", "completion": "one", "step": 3})
    with file.open("a") as more:
        for part in ('{"prompt": "p", "comple', 'tion": "two"', ', "step": 3}\n'):
            assert following.take([tmp_path / "dumps"]).skipped == []
            more.write(part)
            more.flush()
    report = following.take([tmp_path / "dumps"])
    assert report.skipped == following.rest() == [] and completions(folder) == ["one", "two"]


def test_a_fault_is_said_once_the_file_stays_as_it_is(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("rollscope.sources.intake.follow.followed.PATIENCE", 0)
    file, runs = tmp_path / "log.jsonl", tmp_path / "runs"
    file.write_text('{"step": 1, "a": 1}\nnot json\n')
    importer = Importer(runs, live=True)
    try:
        (said,) = importer.take([file]).skipped
        assert "line 2" in said.why and importer.take([file]).skipped == [] and not importer.waits
    finally:
        importer.close()


def test_what_was_there_before_is_left_out_until_it_changes(folder: Path, following: Importer, tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    old = write_lines(dumps / "old.jsonl", {"prompt": "p", "completion": "old", "step": 3})
    following.leave([dumps])
    write_lines(dumps / "new.jsonl", {"prompt": "p", "completion": "new", "step": 3})
    following.take([dumps])
    assert completions(folder) == ["new"]
    with old.open("a") as more:
        more.write(json.dumps({"prompt": "p", "completion": "more", "step": 3}) + "\n")
    following.take([dumps])
    assert completions(folder) == ["more", "new", "old"]


def test_a_folder_that_is_made_again_is_followed_on(folder: Path, following: Importer, tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    for text in ("first", "second"):
        write_lines(dumps / f"{text}.jsonl", {"id": text, "prompt": "p", "completion": text, "step": 3})
        following.take([dumps])
        assert text in completions(folder) and not following.waits
        shutil.rmtree(dumps)


def test_a_database_that_grows_in_its_log_is_read_on(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    base = sqlite3.connect(file)
    base.execute("PRAGMA journal_mode = wal")
    base.execute("PRAGMA wal_autocheckpoint = 0")
    known = Followed()
    base.execute("CREATE TABLE metrics (step INTEGER)")
    base.commit()
    known.leave(tmp_path)
    assert known.is_read(file)
    base.execute("INSERT INTO metrics VALUES (1)")
    base.commit()
    assert not known.is_read(file)
    base.close()


def test_a_look_finds_what_came_changed_and_went_once(tmp_path: Path) -> None:
    dumps, alone = tmp_path / "dumps", tmp_path / "alone.db"
    watch = Watch([dumps, alone], every=1)
    changes = [
        lambda: (dumps / "a").mkdir(parents=True) or (dumps / "a" / "1.jsonl").write_text("one"),
        lambda: (dumps / "a" / "1.jsonl").write_text("two!"),
        lambda: alone.write_text("a database"),
        lambda: Path(f"{alone}-wal").write_text("its log"),
        lambda: shutil.rmtree(dumps),
        watch.look_again,
    ]
    for change in changes:
        change()
        assert watch.changed() and not watch.changed()


def test_the_rest_between_looks_grows_with_what_they_take(tmp_path: Path, monkeypatch: Any) -> None:
    for times, rest in ((0, 1), (1e-9, 1), (1e12, 60)):
        monkeypatch.setattr("rollscope.sources.intake.follow.watch.TIMES", times)
        assert Watch([tmp_path], every=1).rest == rest
    assert Watch([tmp_path], every=90).rest == 90


def test_an_import_that_is_killed_goes_on_in_the_run(folder: Path, tmp_path: Path) -> None:
    rows = [{"id": str(i), "prompt": "p", "completion": f"c{i}", "step": 3} for i in range(20_000)]
    write_lines(tmp_path / "dumps" / "some.jsonl", *rows)
    command = [sys.executable, "-m", "rollscope", "import", str(tmp_path / "dumps"), "--into", "run"]
    killed = subprocess.Popen([*command, "--dir", str(folder)])
    while killed.poll() is None and not any(log.stat().st_size for log in folder.glob("run/*.1.log")):
        pass
    killed.kill()
    killed.wait()
    assert take(folder, tmp_path / "dumps") == 0
    ids = rs.open(folder).run("run").sql("SELECT count(*) AS n, count(DISTINCT id) AS ids FROM samples")
    assert (ids["n"][0], ids["ids"][0]) == (20_000, 20_000)


def test_two_folders_may_number_their_samples_alike(folder: Path, tmp_path: Path) -> None:
    """What comes later goes to the samples of its own folder."""
    files = [tmp_path / "dumps" / rank / "some.jsonl" for rank in ("rank_0", "rank_1")]
    for file in files:
        write_lines(file, {"prompt": "p", "completion": f"{file.parent.name} a", "step": 3})
    assert take(folder, tmp_path / "dumps") == 0 and completions(folder) == ["rank_0 a", "rank_1 a"]
    for file in reversed(files):
        with file.open("a") as more:
            more.write(json.dumps({"prompt": "p", "completion": f"{file.parent.name} b", "step": 3}) + "\n")
        assert take(folder, file) == 0
    assert completions(folder) == ["rank_0 a", "rank_0 b", "rank_1 a", "rank_1 b"]
    found = rs.open(folder).run("run").samples(where="step = 3")
    assert len({*found["group"]}) == 2


def test_turns_stay_with_the_samples_of_their_folder(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        WRITERS["rllm"](tmp_path / name)
    assert take(folder, tmp_path / "one", tmp_path / "two") == 0
    run = rs.open(folder).run("run")
    found = run.sql("SELECT count(*) n, count(DISTINCT sample) d FROM turns JOIN samples ON sample = samples.id")
    alone = rs.open(folder).sql("SELECT count(*) n, count(DISTINCT sample) d FROM turns WHERE sample NOT LIKE 'two-%'")
    assert (found["n"][0], found["d"][0]) == (2 * alone["n"][0], 2 * alone["d"][0])


def test_many_folders_are_followed_with_few_open_files(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("rollscope.sources.intake.open_targets.OPEN", 2)
    following = Importer(folder, live=True, into=Into("run"))
    try:
        for step in range(1, 6):
            write_lines(tmp_path / "d" / f"step_{step}" / "a.jsonl", {"prompt": "p", "completion": "c", "step": step})
        following.take([tmp_path / "d"])
        assert len(open_logs(folder)) == 2
        write_lines(tmp_path / "d" / "step_1" / "b.jsonl", {"prompt": "p", "completion": "more", "step": 1})
        following.take([tmp_path / "d"])
    finally:
        following.close()
    assert completions(folder, step=1) == ["c", "more"]
    assert [completions(folder, step=step) for step in range(2, 6)] == [["c"]] * 4


def open_logs(folder: Path) -> list[Path]:
    return [log for log in folder.glob("run/*.log") if lock.look(str(log)) is lock.Lock.HELD]


def test_another_import_of_the_same_files_is_told_to_wait(folder: Path, following: Importer, tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    write_lines(dumps / "a.jsonl", {"prompt": "p", "completion": "a", "step": 3})
    following.take([dumps])
    write_lines(dumps / "b.jsonl", {"prompt": "p", "completion": "b", "step": 3})
    with (
        contextlib.closing(Importer(folder, into=Into("run"))) as another,
        pytest.raises(Busy, match="another process imports the same files into run 'run'"),
    ):
        another.take([dumps])
    following.take([dumps])
    assert completions(folder) == ["a", "b"]


def test_an_import_goes_on_after_another_one_that_went_on(folder: Path, tmp_path: Path) -> None:
    """Neither doubles nor drops what the other added."""
    dumps = tmp_path / "dumps"
    first, second = (Importer(folder, live=True, into=Into("run")) for _ in range(2))
    write_lines(dumps / "a.jsonl", {"step": 3, "mine/a": 1.0})
    for importer in (first, second):
        importer.take([dumps])
        importer.close()
    write_lines(dumps / "b.jsonl", {"step": 3, "mine/b": 1.0})
    for importer in (first, second, first):
        importer.take([dumps])
        importer.close()
    found = stored(folder).run("run").sql("SELECT name FROM metrics WHERE name LIKE 'mine/%' ORDER BY name")
    assert found["name"].tolist() == ["mine/a", "mine/b"]


def test_a_run_that_is_removed_gets_no_more_rows(folder: Path, following: Importer, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_lines(tmp_path / "dumps" / f"{name}.jsonl", {"prompt": "p", "completion": name, "step": 3})
        if name == "a":
            following.take([tmp_path / "dumps"])
            shutil.rmtree(folder / "run")
    for what in (lambda: following.take([tmp_path / "dumps"]), following.close):
        with pytest.raises(Gone, match="was removed while rows were added to it"):
            what()
    assert not (folder / "run").exists()


def test_the_folder_of_the_run_itself_may_be_given(folder: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "some.jsonl", {"prompt": "p", "completion": "c", "step": 3})
    assert take(folder / "run", tmp_path / "some.jsonl") == 0
    assert completions(folder) == ["c"] and not (folder / "run" / "run").exists()


@pytest.fixture
def recorded_rollouts(tmp_path: Path) -> Path:
    """A run that recorded four rollouts at step 3: the words of two are the same."""
    with rs.init(id="run", dir=tmp_path / "runs", host=False) as run:
        for i, text in enumerate(("a", "b", "b", "c")):
            same = {"split": "train", "reward": i / 4, "group": "own", "prompt": "2 + 2?", "completion": text}
            run.log_samples(step=3, samples=[{"id": f"1.{i}", **same}])
    return tmp_path / "runs"


def dumped(*texts: str) -> list[dict[str, Any]]:
    prompt = "<|im_start|>user\n2 + 2?<|im_end|>"
    return [{"prompt": prompt, "completion": text, "answer": "4", "reward": 9.0, "step": 3} for text in texts]


def test_a_rollout_that_the_run_recorded_is_not_doubled(recorded_rollouts: Path, tmp_path: Path, capsys: Any) -> None:
    """It keeps what it has and gets what it lacks; each of two with the same words is one."""
    file = write_lines(tmp_path / "dumps" / "some.jsonl", *dumped("b", "c", "b", "a"), *dumped("b", "new"))
    assert take(recorded_rollouts, file) == 0
    assert "the run has 4 of its rollouts already; they got what the run lacked of them" in capsys.readouterr().out
    found = rs.open(recorded_rollouts).run("run").sql("SELECT id, completion, reward, answer FROM samples ORDER BY id")
    rows = [*zip(*(found[name].tolist() for name in ("id", "completion", "reward", "answer")), strict=True)]
    assert [row for row in rows if row[0].startswith("1.")] == [
        *[("1.0", "a", 0.0, "4"), ("1.1", "b", 0.25, "4"), ("1.2", "b", 0.5, "4"), ("1.3", "c", 0.75, "4")]
    ]
    assert sorted(row[1:] for row in rows[4:]) == [("b", 9.0, "4"), ("new", 9.0, "4")] and len(rows) == 6
    with file.open("a") as more:
        more.write(json.dumps(dumped("later")[0]) + "\n")
    assert take(recorded_rollouts, file) == 0 and len(completions(recorded_rollouts)) == 7


def test_rollouts_of_another_step_or_prompt_are_others(recorded_rollouts: Path, tmp_path: Path) -> None:
    (row,) = dumped("a")
    write_lines(tmp_path / "dumps" / "some.jsonl", {**row, "step": 4}, {**row, "prompt": "3 + 3?"})
    assert take(recorded_rollouts, tmp_path / "dumps") == 0
    assert len(completions(recorded_rollouts)) == 5 and completions(recorded_rollouts, step=4) == ["a"]


@pytest.mark.parametrize("split, other, same", [("train", "eval", False), ("train", None, True), (None, "eval", True)])
def test_a_rollout_of_an_evaluation_is_none_of_training(split: str | None, other: str | None, same: bool) -> None:
    rollout = Rollout("1.0", "22", split, frozenset(), has_turns=False)
    assert rollout.is_in({"prompt": "2 + 2?", "completion": "4", "split": other}) == same


def test_a_live_run_and_its_dump_hold_each_rollout_once(tmp_path: Path) -> None:
    """A hook records while the files of the same rollouts are followed."""
    following = Importer(tmp_path / "runs", live=True, into=Into("run"))
    try:
        with rs.init(id="run", dir=tmp_path / "runs", host=False) as run:
            for step in (1, 2, 3):
                row = {"prompt": f"{step} + 1?", "completion": "a sum"}
                run.log_samples(step=step, samples=[{"id": f"{step}.0", **row}])
                run.commit(step)
                run.flush()
                write_lines(tmp_path / "dumps" / f"{step}.jsonl", {**row, "step": step, "messages": CHAT})
                following.take([tmp_path / "dumps"])
    finally:
        following.close()
    found = (
        rs.open(tmp_path / "runs").run("run").sql("SELECT id, messages IS NOT NULL AS chat FROM samples ORDER BY id")
    )
    assert found["id"].tolist() == ["1.0", "2.0", "3.0"] and all(found["chat"])


class Hooked:
    """A run that records the two rollouts of slime's dump under ids of its own."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder, self.dumps, self.parts = tmp_path / "runs", tmp_path / "dumps", tmp_path / "parts"
        WRITERS["slime"](self.parts)
        self.run = rs.init(id="run", dir=self.folder, host=False)
        self.run.log({"reward/mean": 0.5}, step=3)
        self.run.commit(3)
        self.run.flush()

    def record(self, *numbers: int) -> None:
        for i in numbers:
            words = {"prompt": "2 + 2?", "completion": ("4", "5 5")[i], "split": "train"}
            self.run.log_samples(step=3, samples=[{"id": f"own{i}", "reward": i / 4, **words}])
        self.run.flush()

    def dump(self, part: str) -> None:
        target = self.dumps / part
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.parts / part, target)

    def samples(self) -> dict[str, tuple[Any, ...]]:
        """Each sample of training: the run's reward; if it has label, tokens, advantages."""
        found = stored(self.folder).run("run").samples(where="split = 'train'")
        has = ("answer", "token_ids", "token_advantages")
        cells = [[value is not None for value in found[name]] for name in has]
        return {id: row for id, *row in zip(found["id"].tolist(), found["reward"].tolist(), *cells, strict=True)}


ROLLOUTS, TRAINED = "rollout_data/3.pt", "train_data/3.pt"
ONE_EACH = {"own0": [0.0, True, True, True], "own1": [0.25, True, True, False]}


@pytest.fixture
def hooked(tmp_path: Path) -> Iterator[Hooked]:
    hooked = Hooked(tmp_path)
    yield hooked
    hooked.run.finish()


@pytest.mark.parametrize("restart", [False, True], ids=["followed", "imported again"])
@pytest.mark.parametrize(
    "order",
    [
        ["hook 0", "hook 1", ROLLOUTS, TRAINED],
        ["hook 0", ROLLOUTS, "hook 1", TRAINED],
        ["hook 1", ROLLOUTS, TRAINED, "hook 0"],
        [ROLLOUTS, "hook 1", "hook 0", TRAINED],
        [ROLLOUTS, TRAINED, "hook 0", "hook 1"],
    ],
    ids=", ".join,
)
def test_a_rollout_is_one_sample_whichever_gives_it_first(order: list[str], restart: bool, hooked: Hooked) -> None:
    """A hook and the dump of the same rollouts, and a later file that knows them by id alone."""
    importer = Importer(hooked.folder, live=True, into=Into("run"))
    for event in order:
        hooked.record(int(event[-1])) if event.startswith("hook") else hooked.dump(event)
        importer.take([hooked.dumps])
        importer.meet(over=True)
        if restart:
            importer.close()
            importer = Importer(hooked.folder, live=True, into=Into("run"))
    importer.close()
    assert hooked.samples() == ONE_EACH
    assert take(hooked.folder, hooked.dumps) == 0 and hooked.samples() == ONE_EACH


def test_rows_with_an_id_alone_find_their_rollout_after_a_restart(hooked: Hooked) -> None:
    hooked.record(0, 1)
    for part in (ROLLOUTS, TRAINED):
        hooked.dump(part)
        assert take(hooked.folder, hooked.dumps) == 0
    assert hooked.samples() == ONE_EACH


def test_a_hook_that_is_always_late_leaves_few_sets(tmp_path: Path) -> None:
    importer = Importer(tmp_path / "runs", live=True, into=Into("run"))
    with rs.init(id="run", dir=tmp_path / "runs", host=False) as run:
        for step in range(20):
            row = {"prompt": "2 + 2?", "completion": f"answer {step}"}
            write_lines(tmp_path / "dumps" / f"{step}.jsonl", {**row, "step": step, "answer": "4"})
            importer.take([tmp_path / "dumps"])
            run.log_samples(step=step, samples=[{"id": f"own{step}", **row}])
            run.flush()
            importer.meet(over=True)
    importer.close()
    found = stored(tmp_path / "runs").run("run").samples()
    assert sorted(found["id"]) == sorted(f"own{step}" for step in range(20)) and set(found["answer"]) == {"4"}
    assert len([*tmp_path.glob("runs/run/*.sealed")]) <= 16


def rollouts_in_memory() -> int:
    gc.collect()
    return sum(type(one) is Rollout for one in gc.get_objects())


def test_rollouts_that_met_their_rows_do_not_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollscope.sources.intake.guest.told.MOST_KNOWN", 5)
    before = rollouts_in_memory()
    importer, row = Importer(tmp_path / "runs", live=True, into=Into("run")), {"prompt": "2 + 2?"}
    with rs.init(id="run", dir=tmp_path / "runs", host=False) as run:
        for step in range(20):
            own = {"id": f"own{step}", "completion": f"answer {step}", **row}
            run.log_samples(step=step, samples=[own])
            run.flush()
            write_lines(tmp_path / "dumps" / f"{step}.jsonl", {**own, "id": f"a{step}", "step": step, "answer": "4"})
            importer.take([tmp_path / "dumps"])
    assert rollouts_in_memory() - before <= 8
    importer.close()
    found = stored(tmp_path / "runs").run("run").samples()
    assert len(found["id"]) == 20 and set(found["answer"]) == {"4"}


def test_a_dump_that_is_written_again_tells_other_rollouts(tmp_path: Path) -> None:
    """A training that is resumed may write its last steps once more, under the same ids."""
    file, row = tmp_path / "dumps" / "3.jsonl", {"prompt": "2 + 2?", "split": "train"}
    with rs.init(id="run", dir=tmp_path / "runs", host=False) as run:
        for i, text in enumerate(("four", "five", "six six")):
            if i < 2:
                run.log_samples(step=3, samples=[{"id": f"own{i}", "completion": text, **row}])
                run.flush()
            write_lines(file, {**row, "completion": text, "answer": text.upper(), "step": 3, "note": "n" * i})
            assert take(tmp_path / "runs", file) == 0
            found = stored(tmp_path / "runs").run("run").samples()
            assert dict(zip(found["completion"], found["answer"], strict=True))[text] == text.upper()
    assert sorted(found["completion"]) == ["five", "four", "six six"]


def test_a_rollout_whose_dump_is_sealed_with_others_is_one_sample(hooked: Hooked) -> None:
    hooked.dump(ROLLOUTS)
    assert take(hooked.folder, hooked.dumps) == 0 and len(hooked.samples()) == 2
    hooked.run.log({"reward/mean": 0.5}, step=4)
    hooked.run.flush()
    seal(str(hooked.folder / "run"), force=True)
    assert compact(str(hooked.folder / "run"), everything=True) == 1
    hooked.record(0, 1)
    hooked.dump(TRAINED)
    assert take(hooked.folder, hooked.dumps) == 0 and hooked.samples() == ONE_EACH
    assert stored(hooked.folder).run("run").series("reward/mean")["value"].tolist() == [0.5, 0.5]


def test_an_import_that_is_killed_before_it_removes_a_rollout_does_it_later(
    hooked: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    hooked.dump(ROLLOUTS)
    assert take(hooked.folder, hooked.dumps) == 0
    hooked.record(0, 1)
    with monkeypatch.context() as patch:
        patch.setattr("rollscope.store.seal.leave_out.leave_out", killed)
        assert take(hooked.folder, hooked.dumps) == 130
    hooked.dump(TRAINED)
    assert take(hooked.folder, hooked.dumps) == 0 and hooked.samples() == ONE_EACH


def test_a_rollout_that_could_not_be_removed_is_removed_at_the_next_look(
    hooked: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    importer = Importer(hooked.folder, live=True, into=Into("run"))
    hooked.dump(ROLLOUTS)
    importer.take([hooked.dumps])
    hooked.record(0, 1)
    with monkeypatch.context() as patch, pytest.raises(CannotWrite):
        patch.setattr("rollscope.store.seal.leave_out.leave_out", full)
        importer.meet(over=True)
    importer.meet(over=True)
    importer.close()
    assert sorted(hooked.samples()) == ["own0", "own1"]
    hooked.dump(TRAINED)
    assert take(hooked.folder, hooked.dumps) == 0 and hooked.samples() == ONE_EACH


TABLE_LATER = """
import json, os, time
from pathlib import Path
import wandb
wandb.init(project="p", name="n")
words = {"prompt": "2 + 2?", "completion": "It is 4."}
Path("dumps").mkdir()
Path("dumps/some.jsonl").write_text(json.dumps({**words, "step": 3, "answer": "4"}) + "\\n")
run = Path(os.environ["ROLLSCOPE_DIR"], os.environ["ROLLSCOPE_RUN_ID"])
while not any("some.jsonl" in path.read_text() for path in run.glob("*.import.json")):
    time.sleep(0.02)
wandb.log({"seen": wandb.Table(columns=["prompt", "completion", "reward"], data=[[*words.values(), 0.5]])}, step=3)
wandb.finish()
"""


def test_a_table_of_rollouts_that_comes_after_their_dump_doubles_nothing(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TABLE_LATER)
    done = record(tmp_path, sys.executable, "program.py", options=["--dumps", "dumps"], WANDB_MODE="disabled")
    assert done.returncode == 0, done.stderr
    found = stored(tmp_path / "runs").run().samples()
    assert [*zip(found["step"], found["answer"], found["reward"], strict=True)] == [(3, "4", 0.5)]


def test_the_turns_of_a_rollout_go_with_it(tmp_path: Path) -> None:
    WRITERS["rllm"](tmp_path / "dumps")
    with rs.init(id="run", dir=tmp_path / "runs", host=False) as run:
        assert take(tmp_path / "runs", tmp_path / "dumps") == 0
        before = stored(tmp_path / "runs").run("run")
        known, turns = before.samples(), before.turns()
        for i, (step, *words) in enumerate(zip(known["step"], known["prompt"], known["completion"], strict=True)):
            run.log_samples(step=int(step), samples=[{"id": f"own{i}", "prompt": words[0], "completion": words[1]}])
    assert take(tmp_path / "runs", tmp_path / "dumps") == 0
    after = stored(tmp_path / "runs").run("run")
    assert sorted(after.samples()["id"]) == [f"own{i}" for i in range(len(known["id"]))]
    assert sorted(after.turns()["content"]) == sorted(turns["content"]) and len(turns["content"]) > 0
    assert set(after.turns()["sample"]) <= set(after.samples()["id"])


@pytest.mark.parametrize("told", [False, True], ids=["the run has none", "the run has them"])
def test_turns_go_to_the_rollout_that_the_run_has(told: bool, tmp_path: Path) -> None:
    WRITERS["rllm"](tmp_path / "dumps")
    assert main(["import", str(tmp_path / "dumps"), "--dir", str(tmp_path / "alone")]) == 0
    alone = rs.open(tmp_path / "alone").run()
    known = alone.sql("SELECT step, prompt, completion FROM samples")
    turns = alone.sql("SELECT count(*) AS n FROM turns")["n"][0]
    own = {"turns": [{"role": "assistant", "content": "mine"}]} if told else {}
    with rs.init(id="run", dir=tmp_path / "runs", host=False) as run:
        for i, (step, *words) in enumerate(zip(*known.values(), strict=True)):
            sample = {"id": f"own{i}", **dict(zip(("prompt", "completion"), words, strict=True)), **own}
            run.log_samples(step=int(step), samples=[sample])
    assert take(tmp_path / "runs", tmp_path / "dumps") == 0
    read = rs.open(tmp_path / "runs").run("run")
    assert read.sql("SELECT count(*) AS n FROM samples")["n"][0] == len(known["step"])
    expected = len(known["step"]) if told else turns
    assert read.sql("SELECT count(*) AS n FROM turns WHERE sample LIKE 'own%'")["n"][0] == expected > 0


@pytest.mark.parametrize("name", ["roll", "slime", "art"])
@pytest.mark.parametrize("place", [shutil.move, shutil.copytree], ids=["moved", "copied"])
def test_a_folder_at_another_place_is_not_doubled(name: str, place: Any, folder: Path, tmp_path: Path) -> None:
    WRITERS[name](tmp_path / "old" / "dumps")
    assert take(folder, tmp_path / "old" / "dumps") == 0
    found = completions(folder)
    place(tmp_path / "old" / "dumps", tmp_path / "new" / "dumps")
    assert take(folder, tmp_path / "new" / "dumps") == 0 and completions(folder) == found


def test_a_folder_in_the_place_of_a_removed_one_is_another(folder: Path, tmp_path: Path) -> None:
    for step in ("1", "2"):
        rows = [{"prompt": "p" * 100, "completion": f"{step}{i}", "step": 3, "note": "n" * 100} for i in range(2)]
        write_lines(tmp_path / f"step_{step}" / "all.jsonl", *rows)
        assert take(folder, tmp_path / f"step_{step}") == 0
        shutil.rmtree(tmp_path / f"step_{step}")
    assert completions(folder) == ["10", "11", "20", "21"]


def test_a_row_that_names_no_step_is_not_put_at_another(folder: Path, tmp_path: Path, capsys: Any) -> None:
    steps: list[Any] = [3, "3", 3.0, None, 2.5, True, 2**70, [1]]
    rows = [{"prompt": "p", "completion": str(i), "step": step} for i, step in enumerate(steps)]
    file = write_lines(tmp_path / "dumps" / "some.jsonl", *rows, {"prompt": "p", "completion": "none"})
    assert take(folder, file) == 0
    assert "6 rows are left out: the step is missing or not a whole number" in capsys.readouterr().out
    run = rs.open(folder).run("run")
    assert completions(folder) == ["0", "1", "2"] and run.sql("SELECT count(*) AS n FROM samples")["n"][0] == 3


STEPLESS = "skipped {}: {} left out: the step is missing or not a whole number. Importing the file"


def stepless(*steps: int | None) -> str:
    rows = [
        {"prompt": "p", "completion": "c" * i} | ({} if step is None else {"step": step})
        for i, step in enumerate(steps)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_rows_without_a_step_are_counted_by_file(folder: Path, tmp_path: Path, capsys: Any) -> None:
    """A file of many rows is read in parts, and a later import reads what is new."""
    (tmp_path / "dumps").mkdir()
    few, many = tmp_path / "dumps" / "few.jsonl", tmp_path / "dumps" / "many.jsonl"
    few.write_text(stepless(3, None))
    many.write_text(stepless(3, *[None] * 2500))
    assert take(folder, tmp_path / "dumps") == 0
    said = [line for line in capsys.readouterr().out.splitlines() if "left out" in line]
    assert [line.split(" Importing")[0] for line in said] == [
        STEPLESS.format(few, "1 row is").split(" Importing")[0],
        STEPLESS.format(many, "2,500 rows are").split(" Importing")[0],
    ]
    with few.open("a") as file:
        file.write(stepless(None, None, 3))
    assert take(folder, tmp_path / "dumps") == 0
    assert STEPLESS.format(few, "2 rows are") in capsys.readouterr().out


def test_what_grows_says_all_of_its_rows_without_a_step(folder: Path, following: Importer, tmp_path: Path) -> None:
    """Also if the last part that was read has none of them."""
    file = tmp_path / "dumps" / "some.jsonl"
    file.parent.mkdir()
    for text in (stepless(3, None), stepless(None, None), stepless(3)):
        with file.open("a") as more:
            more.write(text)
        following.take([file.parent])
    assert [str(one) for one in following.rest()] == [
        f"{file}: 3 rows are left out: the step is missing or not a whole number. Importing the file without --into"
        " keeps them"
    ]


def test_what_grows_slowly_says_its_rows_without_a_step_seldom(
    following: Importer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollscope.sources.intake.follow.followed.PATIENCE", 0.0)
    file, said = tmp_path / "dumps" / "some.jsonl", []
    file.parent.mkdir()
    for _ in range(20):
        with file.open("a") as more:
            more.write(stepless(3, None))
        said += following.take([file.parent]).skipped
    counts = [one.why.partition(" ")[0] for one in (*said, *following.rest())]
    assert counts == ["1", "2", "4", "8", "16", "20"]


def test_rollouts_without_a_step_go_to_the_one_that_is_given_once(folder: Path, tmp_path: Path, capsys: Any) -> None:
    """Files of two steps may number them alike."""
    for step in ("2", "3"):
        file = write_lines(tmp_path / step / "all.jsonl", {"prompt": "p", "completion": f"of {step}"})
        for new in (1, 0):
            assert main(["import", str(file), "--into", "run", "--step", step, "--dir", str(folder)]) == 0
            says = "1 row (1 of samples) is new" if new == 1 else f"{new} rows ({new} of samples) are new"
            assert (says if new else "nothing is new") in capsys.readouterr().out
    assert completions(folder, step=2) == ["of 2"] and completions(folder) == ["of 3"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_the_wait_for_the_last_dumps_can_be_ended(number: signal.Signals, tmp_path: Path) -> None:
    """The run ends as its program did, the rest is said, and an import adds it."""
    line = json.dumps({"prompt": "p", "completion": "c" * 60, "step": 1}) + "\n"
    (tmp_path / "program.py").write_text(f"""
from pathlib import Path
Path("dumps").mkdir()
Path("dumps/huge.jsonl").write_text({line!r} * 100_000)
raise SystemExit(3)
""")
    command = [sys.executable, "-m", "rollscope", "run", "--dumps", "dumps", "--dir", "runs", "--"]
    options: dict[str, Any] = {"cwd": tmp_path, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    recording = subprocess.Popen([*command, sys.executable, "program.py"], **options)
    try:
        while not any(log.stat().st_size > 1_000_000 for log in tmp_path.glob("runs/*/*.log")):
            assert recording.poll() is None
        recording.send_signal(number)
        said = recording.communicate()[1]
    finally:
        recording.kill()
    (about,) = rs.open(tmp_path / "runs").runs()
    assert recording.returncode == 3 and (about.state, about.reason) == ("crashed", "exit code 3")
    assert "the import of the last dumps was broken off" in said and f"--into {about.id}" in said
    again = ["import", str(tmp_path / "dumps"), "--into", about.id, "--dir", str(tmp_path / "runs")]
    assert main(again) == 0
    assert rs.open(tmp_path / "runs").run(about.id).sql("SELECT count(*) AS n FROM samples")["n"][0] == 100_000
