"""The callback that records a Hugging Face trainer.

It records every logged number at the trainer's step, evaluation apart from training, and steps,
optimiser updates, evaluations, checkpoints and profiled parts as spans. A request to stop is
honoured after a checkpoint. It never raises into the trainer: a failure is printed once on stderr.
"""

from __future__ import annotations

import functools
import sys
import time
from typing import Any

from transformers import TrainerCallback

from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.values import numbers

from .files import by_split


class RollscopeCallback(TrainerCallback):  # type: ignore[misc]
    """Records what the trainer logs.

    Without `run` it starts a run when training begins and finishes it when training ends.
    """

    def __init__(self, run: Any = None, **options: Any) -> None:
        self.run = run
        self.trainer: Any = None
        self.model: Any = None  # says whether the trainer trains or evaluates
        self._options = options
        self._owns = run is None
        self._step_ns = 0
        self._update_ns = 0  # when the optimiser began
        self._free_ns = 0  # when the last part ended: an evaluation or a checkpoint follows at once

    @quiet
    def begin(self, args: Any, state: Any) -> Any:
        """The run; starts it if there is none yet."""
        if self.run is None:
            from rollscope.record.start import init

            facts = {
                "name": getattr(args, "run_name", None),
                "project": getattr(args, "project", None),
                "config": _config(args),
                "framework": dialect(args),
                "algorithm": kind(args),
                "steps": state.max_steps if state.max_steps > 0 else None,
            }
            self.run = init(**{**facts, **self._options})
            self._owns = True
        return self.run

    @quiet
    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._free_ns, self.model = time.time_ns(), kwargs.get("model")
        if self.begin(args, state) is not None:
            _listen_to_profiling(self)

    @quiet
    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.run is not None:
            if state.global_step:  # the previous step is logged only now
                self.run.commit(state.global_step, epoch=state.epoch, **_tokens(state))
            self._step_ns = time.time_ns()

    @quiet
    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._update_ns = time.time_ns()

    @quiet
    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.run is not None and self._update_ns:
            self.run.log_span("optimizer", self._update_ns, time.time_ns(), step=state.global_step + 1)

    @quiet
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._free_ns = time.time_ns()
        if self.run is not None and self._step_ns:
            self.run.log_span("step", self._step_ns, self._free_ns, step=state.global_step)
        if self.run is not None and self.run.should_stop(state.global_step):
            control.should_save = control.should_training_stop = True

    @quiet
    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._part("evaluate", state)

    def _part(self, name: str, state: Any) -> None:
        """A part that began when the one before it ended, and has ended now."""
        start, self._free_ns = self._free_ns, time.time_ns()
        if self.run is not None and start:
            self.run.log_span(name, start, self._free_ns, step=state.global_step)

    @quiet
    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._part("save_checkpoint", state)
        if self.run is not None and state.is_world_process_zero:
            self.run.note(f"checkpoint of step {state.global_step}", state.global_step, kind="checkpoint")

    @quiet
    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if not state.is_world_process_zero or not logs or self.begin(args, state) is None:
            return  # the trainer has gathered over ranks; the others have the same numbers, or only their part
        last = state.log_history[-1] if state.log_history else {}  # earlier callbacks remove keys from `logs`
        entry = last if last.get("step") == state.global_step and logs.items() <= last.items() else logs
        splits = by_split(entry)
        for split, values in splits.items():
            self.run.log(numbers(values), step=state.global_step, split=split)
        if "eval" not in splits:  # those come out of an evaluation that goes on
            self._free_ns = time.time_ns()

    @quiet
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.run is not None:
            self.run.commit(state.global_step, epoch=state.epoch, **_tokens(state))
            if self._owns:
                self.run.finish()
                self.run = None


def _tokens(state: Any) -> dict[str, int]:
    tokens = getattr(state, "num_input_tokens_seen", 0)
    return {"tokens": int(tokens)} if tokens else {}


def kind(args: Any) -> str:
    """grpo, async_grpo, dpo, ...: the trainer, as TRL names the module of its configuration.

    A configuration that is not TRL's has the name of its class.
    """
    for one in type(args).__mro__:
        if one.__module__.startswith("trl."):
            return one.__module__.rpartition(".")[2].removesuffix("_config")
    name = type(args).__name__.removesuffix("Config").lower()
    return {"training": "", "trainingarguments": ""}.get(name, name)


def dialect(args: Any) -> str:
    """Such as `trl:grpo@1.16`."""
    trl = sys.modules.get("trl")
    version = getattr(trl, "__version__", "")
    return "trl" + (f":{kind(args)}" if kind(args) else "") + (f"@{version}" if version else "")


def _config(args: Any) -> dict[str, Any]:
    config = args.to_dict() if hasattr(args, "to_dict") else dict(vars(args))
    return {key: value for key, value in config.items() if value is not None and not key.endswith("token")}


def _listen_to_profiling(callback: RollscopeCallback) -> None:
    """Record the times of TRL's own parts, at the method that reports them to trackers."""
    from trl.extras import profiling

    context = getattr(profiling, "ProfilingContext", None)
    if context is None or not hasattr(context, "_log_metrics"):
        return
    theirs = getattr(context, "_rollscope_theirs", context._log_metrics)
    context._rollscope_theirs = theirs
    record = quiet(functools.partial(_span, callback))

    def both(self: Any, duration: float) -> None:
        record(self, duration)
        theirs(self, duration)

    context._log_metrics = both


def _span(callback: RollscopeCallback, context: Any, duration: float) -> None:
    """TRL counts completed steps: a part that runs after step n belongs to step n + 1.

    A part of an evaluation after step n belongs to step n, and its name says so: its seconds are
    not those of the training's own generation.
    """
    if callback.run is not None:
        now, step = time.time_ns(), context.step or 0
        training = callback.model is None or callback.model.training
        name, step = (context.name, step + 1) if training else (f"evaluate/{context.name}", step)
        callback.run.log_span(name, now - round(duration * 1e9), now, step=step)
