"""Loaded in each process of veRL, by `VERL_USE_EXTERNAL_MODULES`: the CPU, and a witness.

What an update held is written to `WITNESS/held/STEP.json`, to be compared with what was recorded.
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path
from typing import Any

import verl_cpu
from verl.utils.tracking import Tracking


def watch() -> None:
    """Write each batch before its update. The trainer is there once it makes its logger."""
    theirs = Tracking.__init__

    @functools.wraps(theirs)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        theirs(self, *args, **kwargs)
        before_update(sys.modules["verl.trainer.ppo.v1.trainer_base"].PPOTrainer)

    Tracking.__init__ = init


def before_update(trainers: Any) -> None:
    from verl_queue_run import keep

    theirs, folder = trainers._update_actor, Path(os.environ["WITNESS"], "held")
    folder.mkdir()

    @functools.wraps(theirs)
    def update(self: Any, batch: Any, *args: Any, **kwargs: Any) -> Any:
        keep(batch, folder / f"{self.global_steps}.json")
        return theirs(self, batch, *args, **kwargs)

    trainers._update_actor = update


verl_cpu.use()
watch()
