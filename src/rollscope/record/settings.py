"""What `rs.init` was called with, in named parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rollscope.sinks import Sink

from .identity import RunRequest

SinkChoice = str | Sink | tuple[str, Mapping[str, Any]]  # a name, an object, or a name with options
Budget = str | int | float  # "all", every n-th sample, or a size


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How much text and how many token arrays are kept, and what is done to texts before."""

    keep_text: Budget = "all"
    keep_tokens: Budget = "4GB"
    redact: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """What the watchers read while the run goes on."""

    host: bool | float = True  # or the seconds between two readings
    scrape: Sequence[str] = ()  # Prometheus endpoints of inference engines


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """Where rows go beside the store, and the names they have there."""

    sinks: Sequence[SinkChoice] = ()
    dialect: str | None = None


@dataclass(frozen=True, slots=True)
class DoctorSettings:
    """Whom a doctor in a process of its own tells, and which rules may ask for a stop."""

    notify: Sequence[str] = ()
    stop: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """Which run this is, what is known about it, and how it is recorded."""

    request: RunRequest
    facts: Mapping[str, Any] = field(default_factory=dict)  # columns of `runs`
    config: Any = None
    text: TextSettings = TextSettings()
    watch: WatchSettings = WatchSettings()
    sinks: SinkSettings = SinkSettings()
    doctor: DoctorSettings = DoctorSettings()
    lake: str = ""  # the folder of the lake that the run is shipped to
