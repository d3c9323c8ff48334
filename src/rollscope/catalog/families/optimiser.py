"""The optimiser: gradient, learning rate, size of the update."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.keys import key
from rollscope.catalog.partials.partial import Last, Max, Mean
from rollscope.catalog.reported import openrlhf, reported, rlinf, telescope, trinity, trl, verl
from rollscope.catalog.spec import Alarm, metric

key("max_grad_norm", "step", "the norm at which gradients are clipped")
key("update_norm", "step", "L2 norm of the change of the parameters in one update")
key("scheduler", "object", "state of the learning-rate scheduler: name -> number")
key("param_norm", "step", "L2 norm of the parameters")

_NAMES = (
    verl("actor/grad_norm"),
    openrlhf("actor_grad_norm", note="the value of the last update"),
    trl("grad_norm", note="the value of the last optimiser step before the log, not a mean"),
    rlinf("train/actor/grad_norm"),
    rlinf("actor/training/actor/grad_norm"),
    trinity("actor/grad_norm"),
    telescope("grad_norm", note="the value of one data-parallel rank, averaged over minibatch groups"),
)


@metric(
    "optimiser/grad_norm",
    unit="1",
    good="steady",
    range=(0.0, None),
    example="0.3",
    names=_NAMES,
    alarms=(
        Alarm(
            "above times opening",
            10.0,
            "bad",
            "published glossary: ten times its normal value",
            says="gradients explode",
        ),
        Alarm(
            "above times opening",
            3.0,
            "watch",
            "prime-rl training.md: spikes precede divergence",
            says="gradients grow",
        ),
    ),
)
def grad_norm(grad_norm: float) -> Mean:
    """Size of the gradient before clipping.

    Definition: L2 norm over all parameters, before clipping, averaged over the updates of the step.
    A non-finite norm is kept and shown.

    Read: Should be steady and fall slowly. A spike is one bad batch. A rise over many steps
    together with mismatch comes before a collapse. A norm that is always above the clip means that
    the clip sets the step size.

    Check: the samples of that step; mismatch/weight/max; policy/ratio/max; optimiser/grad_clipped.
    """
    return Mean(grad_norm, 1.0)


@metric("optimiser/grad_norm_max", unit="1", good="steady", range=(0.0, None), example="1.7")
def grad_norm_max(grad_norm: float) -> Max:
    """Largest gradient norm of the step's updates.

    Definition: highest L2 norm before clipping over the updates of the step.

    Read: A mean hides one exploding update among many; this maximum does not.

    Check: optimiser/grad_norm; the samples of the step.
    """
    return Max(grad_norm, grad_norm, 1.0)


@metric(
    "optimiser/grad_clipped",
    unit="share",
    good="down",
    range=(0.0, 1.0),
    example="3 of 4 updates: 0.75",
    alarms=(
        Alarm(
            "above",
            0.9,
            "watch",
            "miles docs/user-guide/monitoring.md: repeatedly at the clip is a red flag",
            says="nearly every update is clipped",
        ),
    ),
)
def grad_clipped(grad_norm: float, max_grad_norm: float) -> Mean:
    """Share of updates whose gradient was clipped.

    Definition: updates with grad_norm > max_grad_norm, divided by updates.

    Read: Now and then is normal; the clip exists for that. Nearly always means that the clip, not
    the learning rate, sets the step size.

    Check: optimiser/grad_norm; optimiser/lr; advantage scale.
    """
    return Mean(float(grad_norm > max_grad_norm), 1.0)


@metric(
    "optimiser/lr",
    unit="1",
    good="context",
    range=(0.0, None),
    example="1e-6",
    names=(
        verl("actor/lr"),
        openrlhf("actor_lr"),
        trl("learning_rate"),
        trl("lr", trainer="ppo"),
        rlinf("train/actor/lr"),
        rlinf("actor/training/actor/lr"),
        trinity("actor/lr"),
        telescope("learning_rate", note="after the scheduler's step"),
    ),
)
def learning_rate(lr: float) -> Last:
    """Learning rate of the policy.

    Definition: the scheduler's value for this step; the latest value if a step has several.

    Read: Follows its schedule. If loss, KL and gradient norm rise together, look here first.

    Check: the schedule; warm-up steps; changes at a resume.
    """
    return Last(lr, 0)


@metric("optimiser/update_norm", unit="1", good="steady", range=(0.0, None), example="0.002")
def update_norm(update_norm: float) -> Mean:
    """How far the parameters moved.

    Definition: L2 norm of the change of all parameters in one update, averaged over the updates of
    the step.

    Read: Adaptive optimisers move by about the learning rate whatever the gradient is, so this is
    the real step size.

    Check: optimiser/lr; optimiser/grad_norm.
    """
    return Mean(update_norm, 1.0)


@metric("optimiser/update_ratio", unit="1", good="steady", range=(0.0, None), example="1e-6")
def update_ratio(update_norm: float, param_norm: float) -> Mean:
    """Size of an update relative to the parameters.

    Definition: update_norm / param_norm, averaged over the updates of the step.

    Read: About as large as the learning rate. A jump means that the step is too large for the
    weights it changes.

    Check: optimiser/lr; precision of the weights, because an update smaller than their rounding has
    no effect.
    """
    return Mean(update_norm / param_norm if param_norm else float("nan"), 1.0)


@metric(
    "optimiser/scheduler/{state}",
    unit="1",
    good="context",
    example="optimiser/scheduler/last_epoch: 120",
    names=(
        verl(
            "lr_scheduler/{state}",
            same=False,
            note="the published glossary lists it; veRL logs only actor/lr and critic/lr",
        ),
    ),
)
def scheduler_state(scheduler: Any) -> dict[str, Last]:
    """A number of the learning-rate scheduler's state.

    Definition: the numbers in the batch's `scheduler` (a mapping, such as its state_dict), as they
    are in this step.

    Read: Read it together with optimiser/lr: it shows where the schedule is, and whether a resume
    reset it.

    Check: optimiser/lr; the state restored at a resume.
    """
    return {str(name): Last(float(x), 0) for name, x in dict(scheduler).items() if isinstance(x, (int, float))}


reported(
    "optimiser/zero_grads",
    meaning="Parameters whose gradient was exactly zero.",
    definition="count over all parameters after the backward pass, as Megatron reports it.",
    read="Near 0. A jump means that part of the network received no signal.",
    check="group/zero_spread; frozen layers",
    unit="parameters",
    good="context",
    example="0",
    names=(
        rlinf("train/actor/num_zeros_in_grad"),
        rlinf("actor/training/actor/num_zeros_in_grad"),
    ),
)
reported(
    "optimiser/update_success",
    meaning="Share of optimiser steps that were taken. A step with a non-finite gradient is skipped.",
    definition="1 for a step taken, 0 for one skipped, averaged over the step's updates, as Megatron reports it.",
    read="Should be 1. Anything less means that updates are lost to overflow.",
    check="optimiser/grad_norm; loss scale; log-probabilities of -inf",
    unit="share",
    good="up",
    example="1.0",
    range=(0.0, 1.0),
    names=(
        rlinf("train/actor/update_success"),
        rlinf("actor/training/actor/update_success"),
    ),
)
