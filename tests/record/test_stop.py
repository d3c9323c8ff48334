"""A request to stop is heard by its attempt alone, at one step on all ranks, and is kept."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.diagnose.finding import Finding
from rollscope.notify.stop import CannotStop, ask, ask_for, requested
from tests.webhook import webhook

GENEROUS = 240.0  # a doctor has the lowest priority of the machine


def opened(folder: Path, id: str) -> Any:
    return rs.open(folder).run(id)


def trained(run: Any, steps: int, first: int = 0) -> int | None:
    """A loop that stops when it is asked to; the step at which it did."""
    for step in range(first, steps):
        run.log({"loss": 1.0}, step=step)
        run.commit(step)
        if run.should_stop(step):
            return step
    return None


def hearing(folder: Path, **more: Any) -> Any:
    run = rs.init(name="r", id="r", dir=folder, host=False, **more)
    assert not run.should_stop(0)
    run.flush(60)
    return run


def until_stopped(run: Any, first: int = 1, **metrics: float) -> int:
    end, step = time.monotonic() + GENEROUS, first
    while not run.should_stop(step):
        run.log({"loss": 1.0, **metrics}, step=step)
        assert time.monotonic() < end, "the request was not heard"
        time.sleep(0.01)
        step += 1
    return step


def kept(folder: Path) -> list[str]:
    notes = opened(folder, "r").notes()
    rows = sorted(zip(notes["time_ns"], notes["text"], notes["kind"], strict=True))
    return [text for _, text, kind in rows if kind == "stop"]


def test_a_request_is_heard_kept_and_given_as_the_reason_of_the_end(tmp_path: Path) -> None:
    run = hearing(tmp_path)
    assert main(["stop", "r", "--dir", str(tmp_path), "--why", "enough of this"]) == 0
    until_stopped(run)
    run.finish()
    facts = opened(tmp_path, "r").facts
    assert (facts["state"], facts["reason"]) == ("finished", "stopped as asked: enough of this")
    asked, heard = kept(tmp_path)
    assert "asked to stop: enough of this" in asked and "Stops after step" in heard


def test_a_resumed_run_does_not_stop_again(tmp_path: Path) -> None:
    run = hearing(tmp_path)
    ask(opened(tmp_path, "r"), "once", "a test")
    last = until_stopped(run)
    run.finish()
    again = rs.init(id="r", resume=True, dir=tmp_path, host=False)
    again.should_stop(last)
    again.flush(60)
    time.sleep(1.2)  # two looks of the thread that reads requests
    assert trained(again, last + 3, last + 1) is None
    assert requested(opened(tmp_path, "r")) is None
    ask(opened(tmp_path, "r"), "twice", "a test")
    until_stopped(again, last + 4)
    again.finish()
    assert opened(tmp_path, "r").facts["reason"] == "stopped as asked: twice"


def test_a_run_that_cannot_hear_is_not_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with rs.init(name="deaf", id="r", dir=tmp_path, host=False) as run:
        run.log({"loss": 1.0}, step=0)
        run.flush(60)
        assert main(["stop", "r", "--dir", str(tmp_path)]) == 2
    assert "does not hear requests to stop" in (said := capsys.readouterr().err) and "process" in said
    assert not (tmp_path / "r" / "stop.json").exists() and kept(tmp_path) == []
    assert main(["stop", "r", "--dir", str(tmp_path)]) == 2
    assert "is finished: there is nothing to stop" in capsys.readouterr().err


def test_the_first_request_counts(tmp_path: Path) -> None:
    run = hearing(tmp_path)
    first = ask(opened(tmp_path, "r"), "first", "one")
    assert ask(opened(tmp_path, "r"), "second", "two") == first
    run.finish()
    assert len(kept(tmp_path)) == 1


@pytest.mark.parametrize("text", ["", "[]", "{", '{"attempt": "x"}', '{"attempt": 1}', "\x00" * 99, '{"attempt": 2}'])
def test_a_file_that_is_no_request_stops_nothing(tmp_path: Path, text: str) -> None:
    run = hearing(tmp_path)
    (tmp_path / "r" / "stop.json").write_text(text)
    assert requested(opened(tmp_path, "r")) is None
    time.sleep(0.6)
    assert trained(run, 3) is None
    run.finish()


RANK = """
import os, sys, time
import torch, torch.distributed as dist
import rollscope as rs
folder, rank, ranks, deaf, end = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
if rank == 0:
    store = dist.TCPStore("127.0.0.1", 0, ranks, True, wait_for_workers=False)
    open(f"{end}.port.new", "w").write(str(store.port))
    os.rename(f"{end}.port.new", f"{end}.port")
else:
    while not os.path.exists(f"{end}.port"):
        time.sleep(0.01)
    store = dist.TCPStore("127.0.0.1", int(open(f"{end}.port").read()), ranks, False)
dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
run = rs.init(name="r", id="r", dir=folder, host=False, shard=rank, shards=ranks)
last = None
for step in range(1_000_000):  # until it is stopped, or the test has seen enough
    run.log({"loss": 1.0}, step=step)
    enough = torch.tensor(float(rank == 0 and os.path.exists(end)))
    dist.all_reduce(enough)  # as gradients are averaged
    if enough:
        break
    time.sleep(0.02 * rank if step % 7 == rank else 0.01)
    if rank != deaf and run.should_stop(step):
        last = step
        break
    if step == 10 and rank == 0:
        run.flush(60)
        print("hears", flush=True)
print("last", last, flush=True)
run.finish()
dist.destroy_process_group()
"""


def ranks(folder: Path, deaf: int, until_said: str = "") -> list[str]:
    """What three ranks say last. They train until they stop, or rank 0 has said something."""
    end, said = folder / "end", folder / "said"
    command = [sys.executable, "-c", RANK, str(folder / "runs")]
    with said.open("w") as errors:
        jobs = [
            subprocess.Popen(
                [*command, str(rank), "3", str(deaf), str(end)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if rank else errors,
                text=True,
            )
            for rank in range(3)
        ]
    try:
        assert jobs[0].stdout.readline() == "hears\n"
        ask(opened(folder / "runs", "r"), "all together", "a test")
        if until_said:
            _wait_for(lambda: until_said in said.read_text())
            end.touch()
        return [job.communicate(timeout=240)[0].splitlines()[-1] for job in jobs]
    finally:
        for job in jobs:
            job.kill()
            job.wait()


def test_all_ranks_leave_at_the_same_step(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    lasts = ranks(tmp_path, deaf=-1)
    assert len(set(lasts)) == 1 and lasts[0] != "last None"


def test_no_rank_leaves_alone_if_one_does_not_ask(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert ranks(tmp_path, deaf=2, until_said="2 of 3 ranks") == ["last None"] * 3


def test_a_rule_stops_only_what_began_in_this_attempt(tmp_path: Path) -> None:
    def gone(step: int) -> Finding:
        return Finding(step=step, claim="Entropy collapsed", evidence="", severity="bad", rule="entropy-collapse")

    run = hearing(tmp_path)
    with run.span("save_checkpoint", step=20):
        pass
    trained(run, 50)
    run.flush(60)
    reader = opened(tmp_path, "r")
    assert ask_for(reader, gone(40)).why == (
        "Entropy collapsed since step 40. Resume from step 20: its checkpoint is the last one before that."
    )
    run.finish()
    again = rs.init(id="r", resume=True, dir=tmp_path, host=False)
    again.should_stop(50)
    again.log({"loss": 1.0}, step=50)
    again.flush(60)
    reader = opened(tmp_path, "r")
    assert reader.first_step == 50 and ask_for(reader, gone(40)) is None
    assert ask_for(reader, gone(52)) is not None
    again.finish()
    with pytest.raises(CannotStop, match="nothing to stop"):
        ask(opened(tmp_path, "r"), "too late", "a test")


def test_init_tells_a_webhook_and_stops_on_a_rule_from_a_process_of_its_own(tmp_path: Path) -> None:
    with webhook() as (url, got):
        run = hearing(tmp_path, doctor={"notify": [url + "T0P5ECRET"], "stop": ["non-finite"]})
        for step in range(30):
            run.log({"policy/loss_total": 1.0}, step=step)
        last = until_stopped(run, 30, **{"policy/loss_total": math.inf})
        run.finish()
        _wait_for(lambda: got)
    assert got[0]["event"] == "opened" and got[0]["rule"] == "non-finite" and last >= 30
    assert "the rule non-finite asked to stop" in kept(tmp_path)[0]
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"T0P5ECRET" not in everything


def test_what_the_doctor_cannot_use_is_said_and_training_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = hearing(tmp_path, doctor={"notify": ["ftp://T0P5ECRET/"], "colour": "red"})
    said = ""

    def refused() -> bool:
        nonlocal said
        said += capfd.readouterr().err
        return "begins with 'ftp'" in said

    _wait_for(refused)
    assert "other keys are not used" in said and "T0P5ECRET" not in said
    assert trained(run, 3) is None
    run.finish()


def _wait_for(is_true: Any) -> None:
    end = time.monotonic() + GENEROUS
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)
