"""Ask the rules of a file about a run, in a process that is ended when one takes too long."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rollscope import isolated
from rollscope.diagnose.engine import Diagnosis, Skipped, joined
from rollscope.diagnose.finding import Finding
from rollscope.errors import BadInput

from .wire import finding

SECONDS = 10.0  # for one rule
BEGIN_SECONDS = 60.0  # to load the libraries and the file
LONGEST_LINE = 1 << 20
MOST_RULES = 100  # of a file that may fail before the rest is left out


def with_own(diagnosis: Diagnosis, run: str, files: Sequence[str], seconds: float = SECONDS) -> Diagnosis:
    """A diagnosis with what one's own rules say added."""
    for file in files:
        if not os.path.isfile(file):
            raise BadInput(f"there is no file {file!r} with rules")
        own = asked(run, os.path.abspath(file), seconds)
        diagnosis = joined(diagnosis, own)
    return diagnosis


def asked(run: str, file: str, seconds: float) -> Diagnosis:
    """What the rules of one file say. A rule that fails is passed over when the rest is asked."""
    failed: dict[str, Finding] = {}
    while True:
        told, stuck, why = _once(run, file, [*failed], seconds)
        if stuck is None or len(failed) >= MOST_RULES:
            return joined(told, Diagnosis(list(failed.values())))
        failed[stuck] = broken(stuck or os.path.basename(file), why)
        if not stuck:  # the file itself
            return joined(told, Diagnosis(list(failed.values())))


def broken(rule: str, why: str) -> Finding:
    """The finding that says that a rule failed."""
    claim = f"The rule {rule} could not read this run"
    check = ("The file of the rule, and the run it fails on",)
    return Finding(
        step=0, claim=claim, evidence=why, severity="watch", check=check, rule=rule, title=claim, order="signal"
    )


def _once(run: str, file: str, passed_over: list[str], seconds: float) -> tuple[Diagnosis, str | None, str]:
    """Diagnosis, the rule that the process ended in (empty: in none of them), and why."""
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    began, looked = "", 0
    with _child(run, file, passed_over) as lines:
        while True:
            row = _next(lines, seconds if began else BEGIN_SECONDS)
            if row is None:
                return Diagnosis(findings, skipped, looked), began, _ended(began, seconds)
            if "done" in row:
                return Diagnosis(findings, skipped, looked), None, ""
            if "failed" in row:
                return Diagnosis(findings, skipped, looked), str(row.get("rule", "")), str(row["failed"])
            if "began" in row:
                began = str(row["began"])
                continue
            findings += [finding(one) for one in row["findings"]]
            skipped += [Skipped(str(row["rule"]), str(row["skipped"]))] if row["skipped"] else []
            looked += not row["skipped"]


def _ended(rule: str, seconds: float) -> str:
    if not rule:
        return "Its process ended before a rule began."
    return f"It did not answer within {seconds:.0f} s, or ended its process; it was stopped."


def _next(lines: queue.SimpleQueue[bytes | None], seconds: float) -> dict[str, Any] | None:
    """The next line, None if none comes in time or it is no line of ours."""
    until = time.monotonic() + seconds
    with contextlib.suppress(queue.Empty, ValueError):
        line = lines.get(timeout=max(0.0, until - time.monotonic()))
        row = json.loads(line) if line else None
        return row if isinstance(row, dict) else None
    return None


@contextlib.contextmanager
def _child(run: str, file: str, passed_over: list[str]) -> Iterator[queue.SimpleQueue[bytes | None]]:
    process = subprocess.Popen(
        isolated.command("rollscope.diagnose.own.child", run, file, *passed_over),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=isolated.environment(),
    )
    lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    try:
        yield lines
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join(5)


def _read(process: subprocess.Popen[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    assert process.stdout is not None
    with process.stdout as stream:
        while line := stream.readline(LONGEST_LINE):
            lines.put(line)
    lines.put(None)
