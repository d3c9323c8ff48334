"""Which run the rows of a resource belong to: the one it names, else one for its service."""

from __future__ import annotations

import re
from typing import Any

from rollscope.sources import RunStart
from rollscope.sources.intake.gather import run_id

from .attributes import ENVIRONMENT, RUN, first, word

KIND = "otlp"
PLAIN = re.compile(r"(?!.*\.json$)[\w@+-][\w.@+-]{0,99}")  # an id that is a folder's name as it is


def run_of(resource: dict[str, Any], kind: str = KIND) -> RunStart:
    """The run of a resource. An id that is no folder's name gets one; it never is a path."""
    named, service = word(resource, RUN), str(resource.get("service.name") or "otlp")
    if named is None:
        id, name = run_id(service, KIND, service), service
    else:
        id, name = named if PLAIN.fullmatch(named) else run_id(named, KIND, named), named
    facts = {
        "name": name[:200],
        "project": str(resource.get("service.namespace") or service)[:200],
        "algorithm": word(resource, ("rl.algorithm",)),
        "environment": {"resource": resource},
        "config": _config(resource) or None,
    }
    return RunStart(id=id, kind=kind, facts=facts)


def _config(resource: dict[str, Any]) -> dict[str, Any]:
    """What a resource says about the training: its `rl.*` attributes."""
    return {name: value for name, value in resource.items() if name.startswith("rl.") and name not in RUN}


def environment_of(found: dict[str, Any], resource: dict[str, Any]) -> str | None:
    value = first(found, ENVIRONMENT)
    return str(value) if value is not None else word(resource, ENVIRONMENT)
