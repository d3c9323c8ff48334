"""`rs.init` begins a run; `join` records into one that another process began."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rollscope.errors import BadInput, NotFound
from rollscope.record.caller.label import label, shown
from rollscope.sinks import Sink

from . import rank
from .identity import Attempt, RunRequest, new_id, resolve
from .loss import Losses, one_line
from .run import Run
from .settings import DoctorSettings, Settings, SinkChoice, SinkSettings, TextSettings, WatchSettings

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
    doctor: Mapping[str, Any] | None = None,
    lake: str | os.PathLike[str] | None = None,
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
        shard, shards: its data-parallel part, and how many there are; else what the launcher set
            (RANK and WORLD_SIZE, or those of `srun` and `mpirun`).

    Where rows go beside the store:
        sinks: names ("jsonl", "wandb", ...), (name, options) pairs, or objects.
        dialect: the framework whose metric names the sinks use.
        lake: the folder of a lake, or the address of a server over one, to which a process of its
            own ships the run while it is recorded; else `ROLLSCOPE_LAKE`.

    Which texts are kept:
        keep_text, keep_tokens: "all", "none", every n-th sample (an int), or a size ("5GB").
        redact: a function that every text passes through before it is written.

    What is watched:
        host: the machine; `False` turns it off, a number is the seconds between two readings.
        scrape: Prometheus endpoints of inference engines.
        doctor: {"notify": targets, "stop": rules}: a doctor in a process of its own tells targets
            ("https://hooks.slack.com/...", "mailto:me@example.org", "env:NAME", ...) when a finding
            begins and when it is over, and asks for a stop when one of these rules finds something.
    """
    said = Losses()  # says what `init` could not use; the run has losses of its own
    shard, shards = _shard(shard, shards, said)
    id = _text(id, said) or os.environ.get("ROLLSCOPE_RUN_ID") or None
    name, project = _text(name, said), _text(project, said)
    facts = {
        "name": name,
        "project": project,
        "group": _text(group, said),
        "tags": [label(tag, said.count) for tag in _listed("tags", tags, said)],
        "algorithm": _text(algorithm, said),
        "framework": _text(framework, said) or _text(dialect, said),
        "steps_planned": _whole("steps", steps, said),
    }
    settings = Settings(
        RunRequest(_root(dir), name, project, id, _plain(resume), _plain(fork), shard, shards),
        {key: value for key, value in facts.items() if value not in (None, [])},
        config,
        TextSettings(keep_text, keep_tokens, redact),
        WatchSettings(host, _listed("scrape", scrape, said)),
        SinkSettings(_listed("sinks", sinks, said), dialect),
        _doctor(doctor, said),
        _lake(lake, said),
    )
    return Run(settings, _attempt(settings.request))


def join(id: str, dir: str | os.PathLike[str], *, shard: int = 0, shards: int = 1) -> Run:
    """Record into a run that another process began.

    That process writes what the run is and how it ends.
    """
    request = RunRequest(_root(dir), id=id, shard=shard, shards=shards)
    return Run(Settings(request, watch=WatchSettings(host=False)), _attempt(request), owner=False)


def _attempt(request: RunRequest) -> Attempt:
    """The attempt to record. Raises only for a wish that cannot be met.

    If the folder of runs cannot be read now (no handles, no permission), a run of its own is begun:
    another attempt of a run that cannot be looked at might be mixed up with the last one.
    """
    try:
        return resolve(request)
    except (BadInput, NotFound):
        raise
    except Exception as error:
        id = new_id(str(request.id or request.name or request.project or "run"))
        wish = f"the run {request.id!r}" if request.id else f"the runs in {request.root}"
        notice = f"{wish} could not be looked at ({one_line(error)}); recording into the run {id!r}"
        return Attempt(id, request.root / id, notice=notice)


def _shard(shard: int | None, shards: int | None, said: Losses) -> tuple[int, int]:
    """The shard and how many there are. What the environment says wrongly is not used."""
    if shard is None and shards is None:
        return rank.launched(said.say)
    own, every = rank.of_launch(said.say) if shard is None or shards is None else (0, 1)
    shards = every if shards is None else _number("shards", shards)
    if shard is None:
        shard = 0 if shards == 1 else own  # alone, whatever the launcher numbered
    shard = _number("shard", shard)
    if not 0 <= shard < shards:
        raise BadInput(f"shard={shard} of shards={shards}: a shard is a number from 0 to {shards - 1}.")
    return shard, shards


def _number(name: str, value: Any) -> int:
    try:
        return int(value)
    except Exception as error:
        raise BadInput(f"{name}={shown(value)} is not a number ({one_line(error)}). Give it as an int.") from None


def _root(dir: str | os.PathLike[str] | None) -> Path:
    try:
        path = Path(os.fspath(dir) if dir is not None else os.environ.get("ROLLSCOPE_DIR") or "runs")
    except TypeError:
        raise BadInput(f"dir={dir!r} is not a path. Give the folder of runs, for example dir='runs'.") from None
    try:
        return path.absolute()
    except OSError:  # the working folder is gone; writing is tried again and again, as for any folder
        return path


def _text(value: Any, said: Losses) -> str | None:
    return None if value is None else label(value, said.count)


def _whole(name: str, value: Any, said: Losses) -> int | None:
    try:
        return None if value is None else int(value)
    except Exception as error:
        said.say(f"{name}={shown(value)} is not a number ({one_line(error)}); it is not used")
        return None


def _doctor(wish: Any, said: Losses) -> DoctorSettings:
    """What `doctor=` asks for. What cannot be used is said, without its values: they are secret."""
    if wish is None:
        return DoctorSettings()
    if not isinstance(wish, Mapping) or not {*wish} <= {"notify", "stop"}:
        said.say('doctor= should be {"notify": [targets], "stop": [rules]}; other keys are not used')
    known = wish if isinstance(wish, Mapping) else {}
    notify, stop = ([str(word) for word in _listed(key, known.get(key), said)] for key in ("notify", "stop"))
    return DoctorSettings(notify, stop)


def _lake(wish: Any, said: Losses) -> str:
    """The folder of the lake; empty for none, and for what is no path."""
    try:
        return os.fspath(wish) if wish is not None else os.environ.get("ROLLSCOPE_LAKE", "")
    except TypeError:
        said.say(f"lake={shown(wish)} is not a path, so the run is shipped to no lake: give the folder of one")
        return ""


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _listed(name: str, values: Any, said: Losses) -> list[Any]:
    """A list of what may be one thing or several."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [] if values is None else [values]
    try:
        return list(values)
    except Exception as error:
        said.say(f"{name} could not be read ({one_line(error)}); they are not used")
        return []
