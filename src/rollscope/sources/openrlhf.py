"""OpenRLHF, live: `rollscope.sources.openrlhf.attach()` before its trainer is made. Its TensorBoard and W&B files are read by their own sources.

Its two loggers are listened to, so one of them has to be on (`--logger.tensorboard_dir` is enough). Names carry the prefix OpenRLHF
gives them, `train/` or `eval/`; both are at the global step (its W&B logger puts evaluations on another axis). The sample it shows becomes one of ours.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any

from rollscope.sources.intake.gather import number

LOGGERS = ("WandbLogger", "TensorboardLogger")


class Listener:
    """Both loggers are told the same; what came first at a step is taken."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options, self._speaker = options, ""
        self._run: Any = None

    def begin(self, speaker: str, args: Any) -> None:
        if self._run is None:
            from rollscope.record.run import init

            self._speaker = speaker
            told = {
                "name": getattr(getattr(getattr(args, "logger", None), "wandb", None), "run_name", None),
                "config": _plain(args),
                "framework": "openrlhf",
            }
            self._run = init(**{**told, "shard": 0, "shards": 1, **self._options})

    def log(self, speaker: str, split: str, step: int, logs: Mapping[str, Any]) -> None:
        if self._run is None or speaker != self._speaker:
            return
        numbers = {
            f"{split}/{name}": found
            for name, value in logs.items()
            if (found := number(value.item() if hasattr(value, "item") else value)) is not None
        }
        self._run.log(numbers, step=step, split=split)
        if shown := logs.get("generated_samples"):
            self._run.log_samples(
                [{"id": f"shown/{step}", "completion": str(shown[0]), "reward": number(shown[1])}], step=step
            )

    def close(self, speaker: str) -> None:
        if self._run is not None and speaker == self._speaker:
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
    theirs = getattr(cls, name)

    @functools.wraps(theirs)
    def both(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = theirs(self, *args, **kwargs)
        try:
            ours(self, *args, **kwargs)
        except Exception as error:
            print(f"rollscope: {name} is not recorded ({error!r}); training goes on", file=sys.stderr)
        return result

    setattr(cls, name, both)


def _plain(value: Any) -> Any:
    """OpenRLHF's nested namespaces as a mapping."""
    found = getattr(value, "__dict__", None)
    return {key: _plain(inner) for key, inner in found.items()} if isinstance(found, dict) else value
