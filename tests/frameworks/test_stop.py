"""TRL and veRL stop when they are asked to: after a checkpoint, all ranks after the same step."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.errors import RollscopeError
from rollscope.notify.resume import checkpoints
from rollscope.notify.stop import ask, hears

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TWO_RANKS = ("-m", "torch.distributed.run", "--standalone", "--local-addr=127.0.0.1", "--nproc-per-node=2")
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


def stopped(framework: str, out: Path, *launcher: str) -> set[int]:
    """Start a training, ask it to stop when it hears; the last steps of its ranks."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    python = ROOT / ".venvs" / framework / "bin" / "python"
    command = [str(word) for word in (python, *launcher, HERE / "stop_run.py", framework, out)]
    job = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        _ask(out, job)
        said, _ = job.communicate(timeout=200)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    return {int(step) for step in re.findall(r"ended after step (\d+)", said)}


def _ask(out: Path, job: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 300
    while job.poll() is None and time.monotonic() < end:
        try:
            run = rs.open(out / "runs").run("r")
            if hears(run):
                ask(run, "enough", "a test")
                return
        except RollscopeError:
            pass  # it has not begun
        time.sleep(0.2)
    raise AssertionError("the run does not hear")


@pytest.mark.parametrize(("framework", "launcher"), [("trl", ()), ("trl", TWO_RANKS), ("verl", ())])
def test_it_stops_after_a_checkpoint_on_all_ranks_at_once(
    framework: str, launcher: tuple[str, ...], tmp_path: Path
) -> None:
    (last,) = stopped(framework, tmp_path, *launcher)
    run = rs.open(tmp_path / "runs").run("r")
    assert last < 4000 and (tmp_path / "out" / f"checkpoint-{last}").is_dir()
    assert run.state == "finished" and run.facts["reason"] == "stopped as asked: enough"
    assert checkpoints(run) == [last]
