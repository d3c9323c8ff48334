"""Ask a run to stop: a person does, or a rule that was named for it beforehand.

The request names the attempt, is kept as a note, and is only written where something hears it.
"""

from __future__ import annotations

import time
from typing import Any

from rollscope.diagnose.finding import Finding
from rollscope.errors import RollscopeError
from rollscope.store import notes
from rollscope.store.log.stop import StopRequest, read, write
from rollscope.store.run import Run

from .resume import resume_from

KIND = "stop"
RECENT = 10  # steps for which a finding that is over still stops a run


class CannotStop(RollscopeError):
    """The run is over, or nothing in it hears a request."""

    status = 409


def ask(run: Run, why: str, by: str, step: int | None = None, **data: Any) -> StopRequest:
    """Ask the current attempt to stop after a checkpoint; the first request counts.

    Raises CannotStop, with what to do instead.
    """
    check_hears(run)
    attempt = current_attempt(run)
    known = read(run.path)
    if known is not None and known.attempt == attempt:
        return known
    request = StopRequest(attempt, " ".join(why.split()), by, time.time_ns())
    text = f"{by} asked to stop: {request.why}"
    notes.write(run.path, {"kind": KIND, "text": text, "step": step, "data": {"attempt": attempt, **data}})
    try:
        write(run.path, request)
    except OSError as error:
        raise CannotStop(f"the request could not be written to {run.path}: {error.strerror or error}") from error
    return request


def check_hears(run: Run) -> None:
    """Raise CannotStop if the run is over or does not hear requests."""
    if run.state != "running":
        raise CannotStop(f"the run {run.id!r} is {run.state}: there is nothing to stop")
    if not hears(run):
        process = run.facts.get("process") or {}
        where = f": process {process['pid']} on {process['host']}" if {"pid", "host"} <= process.keys() else ""
        raise CannotStop(
            f"the run {run.id!r} does not hear requests to stop. TRL's and veRL's do, and loops that call"
            f" `run.should_stop()`. Stop this one where it runs{where}"
        )


def hears(run: Run) -> bool:
    """Does something in the current attempt honour requests?"""
    return bool(run.facts.get("hears_stop") == current_attempt(run))


def current_attempt(run: Run) -> int:
    return int(run.facts.get("attempt") or 1)


def requested(run: Run) -> StopRequest | None:
    """The request to stop the current attempt, if there is one."""
    request = read(run.path)
    return request if request is not None and request.attempt == current_attempt(run) else None


def ask_for(run: Run, finding: Finding) -> StopRequest | None:
    """Ask on behalf of a rule, if its finding began in the current attempt and is not long over.

    A resumed run carries the findings of its earlier attempts: they stop nothing.
    """
    if finding.step < run.first_step or _is_past(run, finding) or requested(run) is not None:
        return None
    why = f"{finding.claim} since step {finding.step:,}. {resume_from(run, finding.step)}"
    return ask(run, why, f"the rule {finding.rule}", finding.step, rule=finding.rule)


def _is_past(run: Run, finding: Finding) -> bool:
    return finding.until is not None and finding.until < (run.last_step or 0) - RECENT
