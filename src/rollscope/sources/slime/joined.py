"""The run that the samples go to.

The process that logs rollouts is a worker of Ray, not the one that `rollscope run` started: it
knows the run from its environment, which workers have if Ray was started with the program, or else
from Ray, which the driver has told.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from rollscope.sources.ray import attach
from rollscope.sources.ray.told import told


def run(args: Any, framework: str) -> Any:
    """The run of this training; one of its own if nobody began one."""
    from rollscope.record.start import join

    where = _of_environment() or told()
    if where is None:
        return _begun(args, framework)
    found = join(where["id"], where["dir"])
    found.describe(framework=framework)
    return found


def _of_environment() -> dict[str, str] | None:
    """What `rollscope run` says. A user may set one of the variables for `rs.init`."""
    names = {"id": "ROLLSCOPE_RUN_ID", "dir": "ROLLSCOPE_DIR", "home": "ROLLSCOPE_HOME"}
    said = {ours: os.environ.get(name, "") for ours, name in names.items()}
    return said if all(said.values()) else None


def _begun(args: Any, framework: str) -> Any:
    from rollscope.record.start import init

    begun = init(
        name=getattr(args, "wandb_group", None) or framework,
        project=getattr(args, "wandb_project", None),
        config=getattr(args, "__dict__", None),
        framework=framework,
        shard=0,
        shards=1,
    )
    if "ray" in sys.modules:
        attach(begun)
    return begun
