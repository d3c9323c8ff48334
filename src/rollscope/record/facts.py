"""The contents of `run.json`, and of the first block of a log."""

from __future__ import annotations

from typing import Any

from rollscope import __version__
from rollscope.record.about.plain import plain
from rollscope.store.log import process
from rollscope.store.log.secret import hide

from . import run_json
from .clock import Clock
from .identity import Attempt, RunRequest
from .launch import job_key, launch_key
from .settings import Settings


def run_facts(settings: Settings, attempt: Attempt, writer: str, now_ns: int) -> dict[str, Any]:
    """The contents of `run.json`: the facts already there, those of `init`, then this attempt's."""
    known = run_json.read(attempt.folder) or {}
    given = hide({key: value for key, value in settings.facts.items() if value not in (None, [])})
    config = _config(settings.config)
    this = {"attempt": attempt.number, "started_ns": now_ns, "resumed_from": attempt.resumed_from}
    others = [other for other in known.get("attempts", []) if other["attempt"] != attempt.number]
    facts = {
        "format": 1,
        "id": attempt.id,
        "config": {},
        **known,
        **given,
        "state": "running",
        "attempt": attempt.number,
        "process": {**process.here(), "writer": writer},
        "launch": launch_key(settings.request),
        "job": job_key(),
        "attempts": [*others, this],
        "started_ns": known.get("started_ns", now_ns),
    }
    if config:
        facts["config"] = config
    if attempt.parent is not None:
        facts |= {"parent": attempt.parent, "parent_step": attempt.parent_step}
    return facts


def _config(config: Any) -> Any:
    """The configuration as a mapping, without secrets; a sentence if it is not one."""
    mapping = {} if config is None else plain(config)
    return hide(mapping if isinstance(mapping, dict) else {"config": mapping})


def process_facts(request: RunRequest, clock: Clock, owner: bool) -> dict[str, Any]:
    """What the first block of a log says about the process that writes it."""
    return {
        **process.here(),
        "rank": request.shard,
        "shard": request.shard,
        "shards": request.shards,
        "version": __version__,
        "child": not owner,
        "wall_ns": clock.now(),
        "monotonic_ns": clock.now() - clock.offset,
    }
