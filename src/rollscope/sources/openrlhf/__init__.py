"""OpenRLHF, live: call `rollscope.sources.openrlhf.attach()` before its trainer is created.

It listens to OpenRLHF's two loggers, so one of them must be on (`--logger.tensorboard_dir` is
enough), and to its PPO trainers. Names have OpenRLHF's prefix, `train/` or `eval/`; both are at the
global step (its W&B logger puts evaluations on another axis). Every rollout of a step and of an
evaluation is a sample; of a trainer that has none, the sample that OpenRLHF shows. Its TensorBoard
and W&B files are read by the sources of those formats.
"""

from __future__ import annotations

import copy
import functools
import time
from collections.abc import Mapping
from typing import Any

from rollscope.sources.intake.gather import number
from rollscope.sources.live.behind import Behind
from rollscope.sources.live.caller import calling
from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.stages import PLACED, stages
from rollscope.sources.live.text import Decoder
from rollscope.sources.live.values import numbers
from rollscope.sources.live.wrap import after, before
from rollscope.sources.ray import attach as attach_ray

from .experiences import Step, rows

STAGES = ("generation", "make_experience", "ppo_train", "broadcast")  # in the order of a step
LOGGERS = ("WandbLogger", "TensorboardLogger")


class Listener:
    """Records what the first logger logs. The second one, if there is one, logs the same."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options, self._logger = options, ""
        self._run: Any = None
        self._step: int | None = None  # of the rollouts that are being made
        self._has_rollouts = False
        self._behind = Behind("rollscope-openrlhf")  # decodes, so that the trainer does not
        self._decoder: Decoder | None = None

    @quiet
    def begin(self, logger: str, args: Any) -> None:
        if self._run is None:
            from rollscope.record.start import init

            self._logger = logger
            name = getattr(getattr(getattr(args, "logger", None), "wandb", None), "run_name", None)
            facts = {"name": name, "config": _plain(args), "framework": "openrlhf", "shard": 0, "shards": 1}
            self._run = init(**{**facts, **self._options})
            before(self._run, "finish", lambda *_, **__: self._behind.settle())  # also if the training raises
            attach_ray(self._run)
            self._listen(calling(_has_rollouts))

    @quiet
    def _listen(self, trainer: Any) -> None:
        """Listen to the trainer that makes the logger; others than PPO's have no rollouts."""
        if trainer is not None:
            before(trainer, "train_step", self._enter)
            after(trainer, "_compute_rollout_stats", lambda _, found: self._on_experiences(trainer, found))
            if hasattr(trainer, "evaluate"):
                before(trainer, "evaluate", lambda step, **_: self._enter_evaluation(trainer, step))

    def _enter(self, samples: Any, global_step: int) -> None:
        self._step = global_step + 1  # OpenRLHF counts the step before it logs it

    def _enter_evaluation(self, trainer: Any, global_step: int) -> None:
        self._step, generator = global_step, trainer.samples_generator
        if not hasattr(generator, "_rollscope"):
            generator._rollscope = self
            after(generator, "generate_eval_samples", lambda found: self._on_evaluated(trainer, found))

    def _on_experiences(self, trainer: Any, experiences: Any) -> None:
        if self._run is not None and self._step is not None:
            own = hasattr(trainer, "samples_generator")  # else another process generates, with weights of its own
            many = int(trainer.args.rollout.n_samples_per_prompt)
            self._has_rollouts = True
            self._put(trainer, Step(_copies(experiences), self._step, many, "train"), now=self._step - 1, on_policy=own)

    def _on_evaluated(self, trainer: Any, experiences: Any) -> None:
        if self._run is not None and self._step is not None:
            many = int(trainer.args.eval.n_samples_per_prompt)
            self._put(trainer, Step(_copies(experiences), self._step, many, "eval"), now=self._step, on_policy=True)

    def _put(self, trainer: Any, step: Step, **about: Any) -> None:
        if self._decoder is None:
            self._decoder = Decoder.of_own(trainer.tokenizer)
        run, decoder = self._run, self._decoder

        def record() -> None:
            try:
                run.log_samples(rows(step, decoder, **about), step=step.number)
            except Exception:
                self._has_rollouts = False  # then the sample that OpenRLHF shows is kept
                raise

        self._behind.put(record)

    @quiet
    def log(self, logger: str, split: str, step: int, logs: Mapping[str, Any]) -> None:
        if self._run is None or logger != self._logger:
            return
        values = {f"{split}/{name}": value for name, value in numbers(logs).items()}
        self._run.log(values, step=step, split=split)
        seconds = {name: logs.get(f"timing/{name}") for name in STAGES}
        for name, start, end in stages(seconds, time.time_ns()):
            self._run.log_span(name, start, end, lane="driver/0", step=step, placed=PLACED)
        if (shown := logs.get("generated_samples")) and not self._has_rollouts:
            sample = {"id": f"shown/{step}", "completion": str(shown[0]), "reward": number(shown[1])}
            self._run.log_samples([sample], step=step)

    @quiet
    def close(self, logger: str) -> None:
        if self._run is not None and logger == self._logger:
            self._behind.close()
            run, self._run, self._decoder = self._run, None, None
            run.finish()


def _copies(experiences: Any) -> list[Any]:
    """The trainer takes the indices away from its own while we decode (dynamic batches)."""
    return [copy.copy(one) for one in experiences]


def _has_rollouts(found: Any) -> bool:
    return hasattr(found, "train_step") and hasattr(found, "_compute_rollout_stats")


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
