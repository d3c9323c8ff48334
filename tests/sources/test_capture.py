"""`rollscope run` records an unchanged program, with its tracker installed or not."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rollscope.store import store as rs  # the stored series, without derived ones

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "any_wandb_script.py"
PROGRAMS = {
    "wandb": """
import wandb
run = wandb.init(project="p", name="n", config={"lr": 0.1})
wandb.config.update({"batch": 8})
for i in range(5):
    wandb.log({"loss": float(i), "nested": {"x": i}})
run.log({"late": 1.0}, step=3)
wandb.finish()
""",
    "trackio": """
import trackio
trackio.init(project="p", name="n", config={"lr": 0.1})
for i in range(5):
    trackio.log({"loss": float(i)}, step=i)
trackio.finish()
""",
    "swanlab": """
import swanlab
swanlab.init(project="p", experiment_name="n", config={"lr": 0.1})
for i in range(5):
    swanlab.log({"loss": float(i)}, step=i)
swanlab.finish()
""",
    "mlflow": """
import mlflow
mlflow.set_experiment("p")
with mlflow.start_run(run_name="n"):
    mlflow.log_params({"lr": 0.1})
    for i in range(5):
        mlflow.log_metric("loss", float(i), step=i)
""",
    "tensorboardX": """
from tensorboardX import SummaryWriter
with SummaryWriter("logs/n") as writer:
    for i in range(5):
        writer.add_scalar("loss", float(i), i)
""",
    "torch.utils.tensorboard": """
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter("logs/n")
for i in range(5):
    writer.add_scalar("loss", float(i), i)
writer.close()
""",
}


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with numpy and nothing else: no tracker and no Rollscope."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    package = Path(np.__file__).parent
    for name in ("numpy", "numpy.libs"):
        if (package.parent / name).exists():
            (site / name).symlink_to(package.parent / name)
    return str(folder / "bin" / "python")


def record(tmp_path: Path, *command: str, options: Sequence[str] = (), **env: str) -> Any:
    """Run a command under `rollscope run`; return the finished process."""
    trackers = ("WANDB", "SWANLAB", "TRACKIO", "MLFLOW", "ROLLSCOPE")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(trackers)}
    home = {
        "HOME": str(tmp_path),
        "TRACKIO_DIR": str(tmp_path / "trackio"),
        "HF_HUB_OFFLINE": "1",
        "WANDB__SERVICE_WAIT": "300",
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db",
    }
    words = [sys.executable, "-m", "rollscope", "run", "--dir", str(tmp_path / "runs"), *options, "--", *command]
    environment = {**clean, **home, **env}
    return subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=500)


def series(run: Any, name: str) -> dict[int, float]:
    points = run.series(name)
    return dict(zip(points["step"].tolist(), points["value"].tolist(), strict=True))


CASES = [
    (library, where)
    for library in PROGRAMS
    for where in ("installed", "not installed")
    if (library, where) != ("torch.utils.tensorboard", "not installed")  # there is no stand-in for torch
]


@pytest.mark.parametrize("library, where", CASES)
def test_what_the_program_logs_is_recorded(library: str, where: str, bare: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAMS[library])
    done = record(tmp_path, bare if where == "not installed" else sys.executable, "program.py")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "rollscope: " not in done.stderr.replace("rollscope: recorded as", ""), done.stderr[-2000:]
    run = rs.open(tmp_path / "runs").run()
    assert series(run, "loss") == {i: float(i) for i in range(5)}
    assert run.record()["state"] == "finished"
    if "tensorboard" not in library:
        assert (run.record()["project"], run.record()["name"]) == ("p", "n") and run.config["lr"] == 0.1
    if library == "wandb":
        assert series(run, "nested.x") == {i: float(i) for i in range(5)}
        assert series(run, "late") == {3: 1.0} and run.config["batch"] == 8


def test_what_two_trackers_are_told_is_recorded_once(bare: str, tmp_path: Path) -> None:
    """Some programs log to every tracker that they find, such as those of tinker-cookbook."""
    (tmp_path / "program.py").write_text("""
import trackio, wandb
wandb.init(project="p", name="n")
trackio.init(project="p", name="n")
for i in range(5):
    wandb.log({"loss": float(i), "own": 1.0}, step=i)
    trackio.log({"loss": float(i), "other": 2.0 * i}, step=i)
trackio.log({"own": 3.0}, step=9)
wandb.finish()
trackio.finish()
""")
    done = record(tmp_path, bare, "program.py")
    assert done.returncode == 0, done.stderr[-2000:]
    run = rs.open(tmp_path / "runs").run()
    found = run.sql("SELECT name, step, value FROM metrics ORDER BY name, step")
    told = list(zip(found["name"], found["step"].tolist(), found["value"].tolist(), strict=True))
    steps = range(5)
    own = [*(("own", i, 1.0) for i in steps), ("own", 9, 3.0)]
    assert told == [*(("loss", i, float(i)) for i in steps), *(("other", i, 2.0 * i) for i in steps), *own]


@pytest.mark.parametrize("where", ["installed", "not installed"])
def test_the_example_records_metrics_and_its_table_of_samples(where: str, bare: str, tmp_path: Path) -> None:
    done = record(tmp_path, bare if where == "not installed" else sys.executable, str(SCRIPT))
    assert done.returncode == 0, done.stderr[-2000:]
    run = rs.open(tmp_path / "runs").run()
    assert set(run.metrics()["name"]) == {"loss", "reward/mean", "grad_norm"} and len(series(run, "loss")) == 50
    assert list(run.samples(columns=["completion"])["completion"]) == ["4", "7"]


def test_a_configured_tracker_still_gets_everything(tmp_path: Path) -> None:
    done = record(tmp_path, sys.executable, str(SCRIPT), WANDB_MODE="offline", WANDB_SILENT="true")
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(list(tmp_path.glob("wandb/offline-run-*/*.wandb"))) == 1
    assert len(series(rs.open(tmp_path / "runs").run(), "loss")) == 50


def test_output_exit_code_and_reason_are_recorded(bare: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys\nprint('hello')\nprint('oh', file=sys.stderr)\nsys.exit(3)\n")
    done = record(tmp_path, bare, "program.py")
    assert done.returncode == 3 and done.stdout == "hello\n" and "oh\n" in done.stderr
    run = rs.open(tmp_path / "runs").run()
    assert (run.record()["state"], run.record()["reason"]) == ("crashed", "exit code 3")
    assert {"hello", "oh"} <= set(run.notes()["text"])


def test_a_missing_program_is_answered_with_a_sentence(tmp_path: Path) -> None:
    done = record(tmp_path, "no-such-program")
    assert done.returncode == 2 and "could not be started" in done.stderr and "Traceback" not in done.stderr


def test_the_programs_own_sitecustomize_still_runs(bare: str, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "sitecustomize.py").write_text("import builtins\nbuiltins.theirs = 'here'\n")
    (tmp_path / "program.py").write_text("print(theirs)\n")
    assert record(tmp_path, bare, "program.py", PYTHONPATH=str(tmp_path / "theirs")).stdout == "here\n"


def test_every_process_of_a_launcher_records_into_the_same_run(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("""
import os, wandb
rank = int(os.environ["RANK"])
wandb.init(project="p", name=f"rank{rank}")
for i in range(3):
    wandb.log({f"loss/{rank}": float(i), "shared": float(rank)}, step=i)
wandb.finish()
""")
    launch = ["-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2"]
    done = record(tmp_path, sys.executable, *launch, "program.py")
    assert done.returncode == 0, done.stderr[-2000:]
    run = rs.open(tmp_path / "runs").run()
    assert series(run, "loss/0") == series(run, "loss/1") == {0: 0.0, 1: 1.0, 2: 2.0}
    assert series(run, "shared") == {i: 0.5 for i in range(3)}
