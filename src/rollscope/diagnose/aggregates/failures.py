"""Samples that failed for a reason that is not the policy's answer, and what became of them."""

from __future__ import annotations

import numpy as np

from .chunk import Chunk, Mask
from .registry import Numbers, aggregate

STOPS = ("error", "aborted", "cancelled", "canceled", "timeout", "env_error", "sandbox_error")
CALLED_OFF = ("aborted", "cancelled", "canceled")
NEAR = 0.02  # of a time limit
LEAST = 20  # samples for a limit to show


def failed(samples: Chunk) -> Mask:
    """Samples with an error, or with a stop reason that says the machine ended them."""
    mask = np.zeros(len(samples), bool)
    if samples.has("error"):
        code, words = samples.words("error")
        mask |= np.array([bool(word) for word in words] or [False])[code]
    if samples.has("stop_reason"):
        code, words = samples.words("stop_reason")
        mask |= np.array([word.lower() in STOPS for word in words] or [False])[code]
    return mask


def zero(samples: Chunk) -> Mask:
    """Samples whose reward is at or below 0, or missing."""
    return ~(samples.number("reward") > 0) if samples.has("reward") else np.ones(len(samples), bool)


@aggregate("failed_share", "id", needs="error or stop_reason")
def failed_share(samples: Chunk) -> Numbers:
    """The share of samples that failed; NaN where neither errors nor stop reasons are known."""
    if not (samples.has("error") or samples.has("stop_reason")):
        return np.full(len(samples.steps), np.nan)
    return samples.mean(failed(samples))


@aggregate("cancelled_share", "stop_reason")
def cancelled_share(samples: Chunk) -> Numbers:
    """The share of samples that were called off, without an error, and were not trained on."""
    code, words = samples.words("stop_reason")
    mask = np.array([word.lower() in CALLED_OFF for word in words] or [False])[code]
    if samples.has("error"):
        code, words = samples.words("error")
        mask &= ~np.array([bool(word) for word in words] or [False])[code]
    return samples.mean(mask & ~samples.flag("trained") if samples.has("trained") else mask)


@aggregate("failed_trained", "reward", "trained")
def failed_trained(samples: Chunk) -> Numbers:
    """The share of all samples that failed and were trained on with a reward of 0 or less."""
    return samples.mean(
        failed(samples) & zero(samples) & samples.flag("trained") & np.isfinite(samples.number("reward"))
    )


@aggregate("zero_at_limit", "reward", "generate_seconds", needs=f"reward, generate_seconds, {LEAST} a step")
def zero_at_limit(samples: Chunk) -> Numbers:
    """The share of samples that earn 0 and took as long as the longest ones of their step.

    A time limit shows as a wall: many samples within two per cent of the same longest time. A limit
    of tokens makes such a wall too; samples that it ended do not count.
    """
    seconds, in_vain = _seconds(samples), zero(samples) & ~_at_token_limit(samples)
    return samples.by_step(lambda at: _at_wall(seconds[at], in_vain[at]))


@aggregate("longest_seconds", "generate_seconds")
def longest_seconds(samples: Chunk) -> Numbers:
    """The longest time that a sample of the step took."""
    return np.asarray(np.maximum.reduceat(_seconds(samples), samples.starts))


def _seconds(samples: Chunk) -> np.ndarray:
    """The seconds of each sample, over generation, tools and grading."""
    known = [name for name in ("generate_seconds", "tool_seconds", "reward_seconds") if samples.has(name)]
    return np.asarray(sum(np.nan_to_num(samples.number(name)) for name in known))


def _at_token_limit(samples: Chunk) -> Mask:
    """Samples that ended at the longest length. Where nothing says why, length tells."""
    if samples.has("stop_reason"):
        code, words = samples.words("stop_reason")
        return np.array([word.lower() == "length" for word in words] or [False])[code]
    if not samples.has("completion_tokens"):
        return np.zeros(len(samples), bool)
    tokens = np.nan_to_num(samples.number("completion_tokens"))
    longest = np.repeat(np.maximum.reduceat(tokens, samples.starts), samples.counts)
    return (tokens > 0) & (tokens >= (1 - NEAR) * longest)


def _at_wall(seconds: np.ndarray, earned_nothing: np.ndarray) -> float:
    if len(seconds) < LEAST or seconds.max(initial=0) <= 0:
        return np.nan
    wall = seconds >= (1 - NEAR) * seconds.max()
    typical = np.median(seconds)
    if seconds.max() < 1.5 * typical or wall.sum() < 3 or not earned_nothing[wall].mean() > 0.9:
        return 0.0
    return float((wall & earned_nothing).mean())


@aggregate("tool_failure_share", "tool_calls", "tool_failures", needs="tool_calls above 0, tool_failures")
def tool_failure_share(samples: Chunk) -> Numbers:
    """Failed tool calls over all tool calls of a step."""
    calls, failures = (np.nan_to_num(samples.number(name)) for name in ("tool_calls", "tool_failures"))
    total = np.add.reduceat(calls, samples.starts)
    lost = np.add.reduceat(failures, samples.starts)
    return np.asarray(np.divide(lost, total, out=np.full(len(total), np.nan), where=total > 0))
