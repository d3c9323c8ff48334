"""`rs.init` begins a run; `join` records into one that another process began."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rollscope.errors import BadInput
from rollscope.sinks import Sink

from .identity import RunRequest
from .run import Run
from .settings import Settings, SinkChoice, SinkSettings, TextSettings, WatchSettings

__all__ = ["init", "join"]


def init(
    project: str | None = None,
    name: str | None = None,
    config: Mapping[str, Any] | Any = None,
    *,
    id: str | None = None,
    resume: bool | int | str | None = None,
    fork: str | tuple[str, int] | None = None,
    dir: str | os.PathLike[str] | None = None,
    tags: Iterable[str] = (),
    group: str | None = None,
    algorithm: str | None = None,
    framework: str | None = None,
    steps: int | None = None,
    sinks: str | Sink | Sequence[SinkChoice] = (),
    dialect: str | None = None,
    shard: int | None = None,
    shards: int | None = None,
    keep_text: str | int | float = "all",
    keep_tokens: str | int | float = "4GB",
    redact: Callable[[str], str] | None = None,
    host: bool | float = True,
    scrape: str | Sequence[str] = (),
) -> Run:
    """Begin recording and return the `Run`. The README shows the ten lines that follow.

    What the run is:
        project, name, group, tags: how people find it.
        config: a mapping or a configuration object; secrets in it are hidden.
        algorithm, framework: what trains; `framework` defaults to `dialect`.
        steps: how many steps are planned.

    Which run it is:
        dir: the folder of runs; else `ROLLSCOPE_DIR`, else `./runs`.
        id: the name of its folder; else `ROLLSCOPE_RUN_ID`, else made of the name and the time.
        resume: `True` goes on after the last step of the run `id`, `120` goes on after step 120
            (later rows are kept as history), "allow" begins the run if it does not exist.
        fork: "RUN@120" begins a new run that continues another one after its step 120.

    Which process this is:
        shard, shards: its data-parallel part, and how many there are; else RANK and WORLD_SIZE.

    Where rows go beside the store:
        sinks: names ("jsonl", "wandb", ...), (name, options) pairs, or objects.
        dialect: the framework whose metric names the sinks use.

    Which texts are kept:
        keep_text, keep_tokens: "all", "none", every n-th sample (an int), or a size ("5GB").
        redact: a function that every text passes through before it is written.

    What is watched:
        host: the machine; `False` turns it off, a number is the seconds between two readings.
        scrape: Prometheus endpoints of inference engines.
    """
    shard, shards = _shard(shard, shards)
    id = id or os.environ.get("ROLLSCOPE_RUN_ID")
    facts = {
        "name": name,
        "project": project,
        "group": group,
        "tags": list(tags),
        "algorithm": algorithm,
        "framework": framework or dialect,
        "steps_planned": steps,
    }
    settings = Settings(
        RunRequest(_root(dir), name, project, id, resume, fork, shard, shards),
        facts,
        config,
        TextSettings(keep_text, keep_tokens, redact),
        WatchSettings(host, [scrape] if isinstance(scrape, str) else list(scrape)),
        SinkSettings(_choices(sinks), dialect),
    )
    return Run(settings)


def join(id: str, dir: str | os.PathLike[str], *, shard: int = 0, shards: int = 1) -> Run:
    """Record into a run that another process began.

    That process writes what the run is and how it ends.
    """
    request = RunRequest(Path(os.fspath(dir)).absolute(), id=id, shard=shard, shards=shards)
    return Run(Settings(request, watch=WatchSettings(host=False)), owner=False)


def _shard(shard: int | None, shards: int | None) -> tuple[int, int]:
    shard = int(os.environ.get("RANK", 0)) if shard is None else shard
    shards = int(os.environ.get("WORLD_SIZE", 1)) if shards is None else shards
    if not 0 <= shard < shards:
        raise BadInput(f"shard={shard} of shards={shards}: a shard is a number from 0 to {shards - 1}.")
    return shard, shards


def _root(dir: str | os.PathLike[str] | None) -> Path:
    return Path(os.fspath(dir) if dir is not None else os.environ.get("ROLLSCOPE_DIR") or "runs").absolute()


def _choices(sinks: str | Sink | Sequence[SinkChoice]) -> list[SinkChoice]:
    return list(sinks) if isinstance(sinks, Sequence) and not isinstance(sinks, str) else [sinks]
