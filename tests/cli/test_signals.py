"""Signals that come to `rollscope run`: the program gets them, and the run says how it ended."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs

WAITS = """
import os, signal, sys, time
from pathlib import Path
def take(number, frame):
    with open("taken", "a") as file:
        file.write(signal.Signals(number).name + "\\n")
    {then}
{handler}
print("begun", flush=True)
Path("pid").write_text(str(os.getpid()))
Path("begun").touch()
while True:
    time.sleep(0.05)
"""
HANDLES = "signal.signal(signal.SIGHUP, take)"
RECORD = [sys.executable, "-m", "rollscope", "run", "--dir", "runs", "--", sys.executable, "program.py"]


@pytest.fixture(autouse=True)
def hangup() -> Iterator[None]:
    """SIGHUP does what it does by default, also where the tests themselves run under `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@contextlib.contextmanager
def left_by_none(tmp_path: Path) -> Iterator[None]:
    """A test that fails ends the program that it began."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        raise


def wait_for(path: Path) -> None:
    until = time.monotonic() + 300
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not come"
        time.sleep(0.02)


def program(tmp_path: Path, handler: str = "", then: str = "raise SystemExit(3)") -> None:
    (tmp_path / "program.py").write_text(WAITS.format(handler=handler, then=then))


def ended(tmp_path: Path) -> Any:
    (about,) = rs.open(tmp_path / "runs").runs()
    return about.state, about.reason


HANGUPS = [
    ("", "raise SystemExit(3)", 129, "crashed", "killed by SIGHUP"),
    (HANDLES, "raise SystemExit(3)", 3, "crashed", "exit code 3, after SIGHUP"),
    (HANDLES, "raise SystemExit(0)", 0, "finished", None),
]


@pytest.mark.parametrize("options", [[], ["--dumps", "dumps"]], ids=["alone", "with dumps"])
@pytest.mark.parametrize("handler, then, code, state, reason", HANGUPS, ids=["dies", "saves and fails", "saves"])
def test_a_hangup_is_the_programs(
    handler: str, then: str, code: int, state: str, reason: str | None, options: list[str], tmp_path: Path
) -> None:
    program(tmp_path, handler, then)
    command = [*RECORD[:4], *options, *RECORD[4:]]
    recording = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        with left_by_none(tmp_path):
            wait_for(tmp_path / "begun")
            recording.send_signal(signal.SIGHUP)
            assert recording.wait(300) == code
    finally:
        recording.kill()
    assert ended(tmp_path) == (state, reason)


def test_nohup_goes_on(tmp_path: Path) -> None:
    program(tmp_path, "", "")
    recording = subprocess.Popen(
        ["nohup", *RECORD], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        with left_by_none(tmp_path):
            wait_for(tmp_path / "begun")
            os.killpg(recording.pid, signal.SIGHUP)
            os.killpg(recording.pid, signal.SIGTERM)  # comes later: what ends the run is the second one
            assert recording.wait(300) == 128 + signal.SIGTERM
    finally:
        recording.kill()
    assert ended(tmp_path) == ("crashed", "killed by SIGTERM")


LEADERS = {"a shell's": True, "its own": False}
TELLS = """
import os, signal, sys
from pathlib import Path
above = os.getppid()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
Path("pid").write_text(str(os.getpid()))
Path("begun").touch()
info = signal.sigwaitinfo([signal.SIGHUP])
while info:
    with open("taken", "a") as file:
        file.write("rollscope\\n" if info.si_pid == above else "terminal\\n")
    info = signal.sigtimedwait([signal.SIGHUP], 0.5)
sys.exit(3)
"""


@pytest.mark.parametrize("leader", LEADERS)
def test_a_closed_terminal_ends_the_program_once(leader: str, tmp_path: Path) -> None:
    """Its shell and Linux send SIGHUP to all; where rollscope leads, it hands SIGHUP on."""
    (tmp_path / "program.py").write_text(TELLS)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        command = ["bash", "--norc", "-i"] if LEADERS[leader] else RECORD
        os.execvp(command[0], command)
    try:
        if LEADERS[leader]:
            os.write(terminal, " ".join(RECORD).encode() + b"\n")
        wait_for(tmp_path / "begun")
    finally:
        os.close(terminal)
    os.waitpid(pid, 0)
    until = time.monotonic() + 300
    with left_by_none(tmp_path):
        while ended(tmp_path)[0] == "running" and time.monotonic() < until:
            time.sleep(0.05)
        assert ended(tmp_path) == ("crashed", "exit code 3, after SIGHUP")
        senders = (tmp_path / "taken").read_text().split()
        assert {*senders} == {"terminal"} if LEADERS[leader] else senders == ["rollscope"]


def test_the_output_is_recorded_on_when_nobody_reads_it(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("for i in range(20_000): print('line', i)")
    recording = subprocess.Popen(RECORD, cwd=tmp_path, stdout=subprocess.PIPE)
    assert recording.stdout is not None
    recording.stdout.close()
    assert recording.wait(300) == 0
    (about,) = rs.open(tmp_path / "runs").runs()
    assert (about.state, "line 19999") == ("finished", rs.open(tmp_path / "runs").run(about.id).notes()["text"][-1])
