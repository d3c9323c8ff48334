"""Samples as they are generated, scored and settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rollscope.record.run import Run
from rollscope.trainer.backend import Batch
from rollscope.trainer.environment import Turn
from rollscope.trainer.policy import tokenizer
from rollscope.trainer.rollouts.player import Sample

TOKEN_COLUMNS = {  # key of `batch.arrays` -> column of samples
    "logp": "logp",
    "old_logp": "old_logp",
    "ref_logp": "ref_logp",
    "entropy": "entropy",
    "advantages": "token_advantages",
}


def generated(run: Run, samples: Sequence[Sample], split: str = "train", step: int | None = None) -> None:
    """Record the text and the tokens of samples."""
    run.log_samples(step=step, samples=[_generated(sample, split) for sample in samples])


def _generated(sample: Sample, split: str) -> dict[str, Any]:
    calls = sample.state.calls
    return {
        "id": sample.id,
        "group": sample.group,
        "task": sample.task.key,
        "repeat": sample.repeat,
        "env": sample.env,
        "split": split,
        "prompt": sample.task.prompt,
        "completion": tokenizer.decode(sample.ids),
        "answer": sample.task.answer or None,
        "turns": [_turn(turn) for turn in sample.state.turns],
        "tool_calls": len(calls),
        "tool_failures": sum(not call.ok for call in calls),
        "prompt_tokens": len(sample.prompt_ids),
        "completion_tokens": sample.completion_tokens,
        "response_tokens": len(sample.ids),
        "stop_reason": sample.stop_reason,
        "policy_version_min": sample.version_min,
        "policy_version_max": sample.version_max,
        "generate_seconds": sample.generate_seconds,
        "tool_seconds": sample.tool_seconds,
        "token_ids": sample.ids,
        "tokens": tokenizer.token_texts(sample.ids),
        "rollout_logp": sample.rollout_logp,
        "action_mask": sample.action_mask,
    }


def _turn(turn: Turn) -> dict[str, Any]:
    row: dict[str, Any] = {
        "role": turn.role,
        "content": turn.content,
        "tokens": turn.tokens,
        "seconds": turn.seconds,
        "stop_reason": turn.stop_reason,
    }
    if turn.role == "tool":
        row |= {"tool": turn.tool, "arguments": turn.arguments, "result": turn.content, "ok": turn.ok}
    return row


def scored(run: Run, samples: Sequence[Sample], step: int | None = None) -> None:
    """Record the rewards of samples, or the errors of those that have none."""
    run.log_samples(step=step, samples=[_scored(sample) for sample in samples])


def _scored(sample: Sample) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": sample.id,
        "stop_reason": sample.stop_reason,
        "reward_seconds": sample.reward_seconds,
        "error": sample.error,
    }
    if sample.result is not None:
        result = sample.result
        row |= {
            "score": result.total_reward,
            "rewards": dict(result.rewards),
            "sample_metrics": dict(result.sample_metrics),
            "tags": dict(result.tags) or None,
        }
    return row


def settled(run: Run, step: int, version: int, batch: Batch | None, discarded: Sequence[Sample]) -> None:
    """Record which samples this step trained on and which it discarded."""
    rows = [_settled(sample, step, version) for sample in discarded]
    for i, sample in enumerate(batch.samples if batch is not None else ()):
        assert batch is not None
        rows.append(_settled(sample, step, version) | token_columns(batch.arrays, i, len(sample.ids)))
    run.log_samples(step=step, samples=rows)


def _settled(sample: Sample, step: int, version: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": sample.id,
        "step": step,
        "trained": sample.discard_reason is None,
        "off_policy_steps": version - sample.version_min,
    }
    if sample.discard_reason is not None:
        row["discard_reason"] = sample.discard_reason
    if sample.result is not None:
        row |= {"reward": sample.reward, "advantage": sample.advantage}
    return row


def token_columns(arrays: Mapping[str, Any], i: int, length: int) -> dict[str, Any]:
    """The token columns of row `i`, cut to its length."""
    return {column: arrays[key][i, :length] for key, column in TOKEN_COLUMNS.items() if key in arrays}
