"""OpenRLHF, live: call `rollscope.sources.openrlhf.attach()` before its trainer is created.

It listens to OpenRLHF's two loggers, so one of them must be on (`--logger.tensorboard_dir` is
enough). Names have OpenRLHF's prefix, `train/` or `eval/`; both are at the global step (its W&B
logger puts evaluations on another axis). The sample that OpenRLHF shows is recorded. Its
TensorBoard and W&B files are read by the sources of those formats.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from rollscope.sources.intake.gather import number
from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.values import numbers

LOGGERS = ("WandbLogger", "TensorboardLogger")


class Listener:
    """Records what the first logger logs. The second one, if there is one, logs the same."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options, self._logger = options, ""
        self._run: Any = None

    @quiet
    def begin(self, logger: str, args: Any) -> None:
        if self._run is None:
            from rollscope.record.start import init

            self._logger = logger
            name = getattr(getattr(getattr(args, "logger", None), "wandb", None), "run_name", None)
            facts = {"name": name, "config": _plain(args), "framework": "openrlhf", "shard": 0, "shards": 1}
            self._run = init(**{**facts, **self._options})

    @quiet
    def log(self, logger: str, split: str, step: int, logs: Mapping[str, Any]) -> None:
        if self._run is None or logger != self._logger:
            return
        values = {f"{split}/{name}": value for name, value in numbers(logs).items()}
        self._run.log(values, step=step, split=split)
        if shown := logs.get("generated_samples"):
            sample = {"id": f"shown/{step}", "completion": str(shown[0]), "reward": number(shown[1])}
            self._run.log_samples([sample], step=step)

    @quiet
    def close(self, logger: str) -> None:
        if self._run is not None and logger == self._logger:
            self._run.finish()
            self._run = None


def attach(**options: Any) -> None:
    """Listen to OpenRLHF's loggers. `options` are those of `rs.init`. Safe to call twice."""
    from openrlhf.utils import logging_utils

    listener = Listener(options)
    for name in LOGGERS:
        cls = getattr(logging_utils, name, None)
        if cls is not None and not hasattr(cls, "_rollscope"):
            cls._rollscope = listener
            _after(cls, "__init__", lambda self, args, n=name: listener.begin(n, args))
            _after(cls, "log_train", lambda self, step, logs, n=name: listener.log(n, "train", step, logs))
            _after(cls, "log_eval", lambda self, step, logs, n=name: listener.log(n, "eval", step, logs))
            _after(cls, "close", lambda self, n=name: listener.close(n))


def _after(cls: Any, name: str, ours: Any) -> None:
    """Call `ours` with the same arguments after a method of a class."""
    theirs, ours = getattr(cls, name), quiet(ours)

    @functools.wraps(theirs)
    def both(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = theirs(self, *args, **kwargs)
        ours(self, *args, **kwargs)
        return result

    setattr(cls, name, both)


def _plain(value: Any) -> Any:
    """OpenRLHF's nested namespaces as a mapping."""
    fields = getattr(value, "__dict__", None)
    return {key: _plain(inner) for key, inner in fields.items()} if isinstance(fields, dict) else value
