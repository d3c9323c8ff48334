"""The contents of `run.json`, and of the first block of a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rollscope import __version__
from rollscope.record.about.plain import plain
from rollscope.record.caller.label import shown
from rollscope.record.write.sample_rows import convert
from rollscope.store.log import process
from rollscope.store.log.secret import hide
from rollscope.store.schema import RUNS
from rollscope.strict_json import parsed

from . import run_json
from .clock import Clock
from .identity import Attempt, RunRequest
from .launch import job_key, launch_key
from .loss import Lose, Losses, one_line
from .settings import Settings

_COLUMNS = {column.name: column.type for column in RUNS}


def run_facts(settings: Settings, attempt: Attempt, writer: str, now_ns: int, losses: Losses) -> dict[str, Any]:
    """The contents of `run.json`: the facts already there, those of `init`, then this attempt's.

    Facts that cannot be read are left out, counted and reported.
    """
    known = _tried("run.json", lambda: run_json.read(attempt.folder) or {}, losses)
    given = _tried("the facts of init", lambda: hide(dict(settings.facts)), losses)
    config = _tried("the configuration", lambda: _config(settings.config), losses)
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
        "process": {**process.here(), "writer": writer, "shard": settings.request.shard},
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


def _tried(what: str, read: Callable[[], dict[str, Any]], losses: Losses) -> dict[str, Any]:
    try:
        return read()
    except Exception as error:
        losses.count("facts", f"{what} could not be read: {one_line(error)}")
        return {}


def _config(config: Any) -> Any:
    """The configuration as a mapping, without secrets; a sentence if it is not one."""
    mapping = {} if config is None else plain(config)
    return hide(mapping if isinstance(mapping, dict) else {"config": mapping})


def described(facts: Mapping[str, Any], lose: Lose) -> dict[str, Any]:
    """Facts of `describe` as columns of `runs`. None is ignored; what does not fit is counted."""
    row = {}
    for name, value in facts.items():
        try:
            if value is not None:
                row[name] = _fact(name, plain(value), _COLUMNS[name])
        except KeyError:
            lose("facts", f"describe does not know {name!r}; it knows {', '.join(sorted(_COLUMNS))}")
        except Exception as error:
            lose("facts", f"{name} should be {_COLUMNS[name]}, not {shown(value)} ({one_line(error)})")
    return row


def _fact(name: str, value: Any, type: str) -> Any:
    """A fact as its column holds it: for JSON a list or a mapping, with one word if it is none."""
    if type != "json":
        return convert(value, type)
    known = parsed(value) if isinstance(value, str) else value
    return known if isinstance(known, (dict, list)) else [value] if name == "tags" else {name: value}


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
