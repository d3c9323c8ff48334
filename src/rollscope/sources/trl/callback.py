"""What Hugging Face tells a callback, recorded: every logged number at the step the trainer says, evaluation apart, steps and profiling as spans.

Nothing here may raise into the trainer: what fails is said once on stderr, and training goes on.
"""

from __future__ import annotations

import functools
import sys
import time
from typing import Any

from transformers import TrainerCallback

from rollscope.sources.intake.gather import number
from rollscope.sources.quiet import quiet

from .files import by_split


class RollscopeCallback(TrainerCallback):  # type: ignore[misc]
    """Records what the trainer logs. Without `run` it begins one when training begins, and finishes it when training ends."""

    def __init__(self, run: Any = None, **options: Any) -> None:
        self.run = run
        self.trainer: Any = None
        self._options = options
        self._owns = run is None
        self._step_ns = 0

    @quiet
    def begin(self, args: Any, state: Any) -> Any:
        """The run, begun if it was not."""
        if self.run is None:
            from rollscope.record.run import init

            told = {
                "name": getattr(args, "run_name", None),
                "project": getattr(args, "project", None),
                "config": _config(args),
                "framework": dialect(args),
            }
            told |= {"algorithm": kind(args), "steps": state.max_steps if state.max_steps > 0 else None}
            self.run = init(**{**told, **self._options})
            self._owns = True
        return self.run

    @quiet
    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.begin(args, state) is not None:
            _profiled(self)

    @quiet
    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.run is not None:
            if state.global_step:  # only now has the step before been logged
                self.run.commit(state.global_step, epoch=state.epoch, **_seen(state))
            self._step_ns = time.time_ns()

    @quiet
    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.run is not None and self._step_ns:
            self.run.log_span("step", self._step_ns, time.time_ns(), step=state.global_step)

    @quiet
    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if not state.is_world_process_zero or not logs or self.begin(args, state) is None:
            return  # the trainer has already gathered over ranks; the others hold the same numbers, or their own part of them
        last = state.log_history[-1] if state.log_history else {}  # callbacks before this one take keys out of `logs`
        entry = last if last.get("step") == state.global_step and logs.items() <= last.items() else logs
        for split, values in by_split(entry).items():
            numbers = {
                name: found
                for name, value in values.items()
                if (found := value if type(value) is float else number(_item(value))) is not None
            }
            self.run.log(numbers, step=state.global_step, split=split)

    @quiet
    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.run is not None:
            self.run.commit(state.global_step, epoch=state.epoch, **_seen(state))
            if self._owns:
                self.run.finish()
                self.run = None


def _item(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _seen(state: Any) -> dict[str, int]:
    tokens = getattr(state, "num_input_tokens_seen", 0)
    return {"tokens": int(tokens)} if tokens else {}


def kind(args: Any) -> str:
    """grpo, dpo, ...: the trainer's name, from its configuration's."""
    name = type(args).__name__.removesuffix("Config").lower()
    return {"training": "", "trainingarguments": ""}.get(name, name)


def dialect(args: Any) -> str:
    trl = sys.modules.get("trl")
    version = getattr(trl, "__version__", "")
    return "trl" + (f":{kind(args)}" if kind(args) else "") + (f"@{version}" if version else "")


def _config(args: Any) -> dict[str, Any]:
    found = args.to_dict() if hasattr(args, "to_dict") else dict(vars(args))
    return {key: value for key, value in found.items() if value is not None and not key.endswith("token")}


def _profiled(callback: RollscopeCallback) -> None:
    """TRL times its own parts and tells three trackers; listen where it tells them."""
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
    """TRL counts steps that are done; what it does after step n belongs to step n + 1."""
    if callback.run is not None:
        now = time.time_ns()
        callback.run.log_span(context.name, now - round(duration * 1e9), now, step=(context.step or 0) + 1)
