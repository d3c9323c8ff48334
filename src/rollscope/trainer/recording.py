"""What the trainer tells the recorder, and under which names: samples as they live, batches as the catalogue reads them, spans, evaluations.

A sample is told three times: generated (what was written), scored (what it got), settled (trained on, or discarded and why). Token
arrays of a trained sample are those of its last pass through the policy, so that every logged number can be computed again from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from rollscope.record.run import Run
from rollscope.trainer.policy import tokenizer
from rollscope.trainer.policy.model import Transformer, parameters
from rollscope.trainer.rollouts.player import Sample

from .backend import Batch
from .environment import Environment, Turn
from .timeline import Span

KEPT = {
    "logp": "logp",
    "old_logp": "old_logp",
    "ref_logp": "ref_logp",
    "entropy": "entropy",
    "advantages": "token_advantages",
}


def declare(run: Run, environment: Environment) -> None:
    run.declare(
        env=environment.name,
        reward_min=environment.reward_min,
        reward_max=environment.reward_max,
        metrics_ranges=dict(environment.metrics_ranges),
    )


def spans(run: Run, rows: Iterable[Span]) -> None:
    for span in rows:
        run.log_span(**span.said())


def generated(run: Run, samples: Sequence[Sample], split: str = "train", step: int | None = None) -> None:
    run.log_samples(step=step, samples=[_generated(sample, split) for sample in samples])


def _generated(sample: Sample, split: str) -> dict[str, Any]:
    calls = sample.state.calls
    return {
        "id": sample.id, "group": sample.group, "task": sample.task.key, "repeat": sample.repeat, "env": sample.env, "split": split,
        "prompt": sample.task.prompt, "completion": tokenizer.decode(sample.ids), "answer": sample.task.answer or None,
        "turns": [_turn(turn) for turn in sample.state.turns], "tool_calls": len(calls), "tool_failures": sum(not call.ok for call in calls),
        "prompt_tokens": len(sample.prompt_ids), "completion_tokens": sample.completion_tokens, "response_tokens": len(sample.ids),
        "stop_reason": sample.stop_reason, "policy_version_min": sample.version_min, "policy_version_max": sample.version_max,
        "generate_seconds": sample.generate_seconds, "tool_seconds": sample.tool_seconds,
        "token_ids": sample.ids, "tokens": tokenizer.pieces(sample.ids), "rollout_logp": sample.rollout_logp, "action_mask": sample.action_mask,
    }  # fmt: skip


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
    """The fate of every sample this step decided over."""
    rows = [_settled(sample, step, version) for sample in discarded]
    if batch is not None:
        rows += [
            _settled(sample, step, version) | _kept(sample, batch.arrays, i) for i, sample in enumerate(batch.samples)
        ]
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


def _kept(sample: Sample, arrays: Mapping[str, Any], i: int) -> dict[str, Any]:
    return {column: arrays[key][i, : len(sample.ids)] for key, column in KEPT.items() if key in arrays}


def sample_level(samples: Sequence[Sample], version: int, max_completion_tokens: int) -> dict[str, Any]:
    """The sample-level half of a batch: everybody whose fate was settled, with what became of them. No reward is NaN, not 0."""

    def numbers(values: Iterable[float]) -> np.ndarray[Any, Any]:
        return np.array(list(values), dtype=np.float64)

    results = [sample.result for sample in samples]
    return {
        "score": numbers(np.nan if r is None else r.total_reward for r in results),
        "reward": numbers(np.nan if r is None else s.reward for s, r in zip(samples, results, strict=True)),
        "rewards": _table([{} if r is None else r.rewards for r in results]),
        "sample_metrics": _table([{} if r is None else r.sample_metrics for r in results]),
        "task": [s.task.key for s in samples], "group": [s.group for s in samples], "env": [s.env for s in samples], "repeat": [s.repeat for s in samples],
        "prompt_tokens": numbers(len(s.prompt_ids) for s in samples), "completion_tokens": numbers(s.completion_tokens for s in samples),
        "response_tokens": numbers(len(s.ids) for s in samples), "max_completion_tokens": max_completion_tokens,
        "padded_prompt_tokens": max(len(s.prompt_ids) for s in samples), "padded_response_tokens": max(len(s.ids) for s in samples),
        "stop_reason": [s.stop_reason or "" for s in samples], "terminated": numbers(s.stop_reason == "stop" for s in samples),
        "turns": numbers(sum(t.role == "assistant" for t in s.state.turns) for s in samples),
        "conversation_turns": numbers(1 + len(s.state.turns) for s in samples),  # veRL's count: every message, and one
        "tool_calls": numbers(len(s.state.calls) for s in samples), "tool_failures": numbers(sum(not c.ok for c in s.state.calls) for s in samples),
        "generate_seconds": numbers(s.generate_seconds for s in samples), "tool_seconds": numbers(s.tool_seconds for s in samples),
        "reward_seconds": numbers(s.reward_seconds for s in samples), "policy_version_now": version,
        "policy_version_min": numbers(s.version_min for s in samples), "policy_version_max": numbers(s.version_max for s in samples),
        "trained": numbers(s.discard_reason is None for s in samples), "discard_reason": [s.discard_reason or "" for s in samples],
    }  # fmt: skip


def machine(model: Transformer) -> dict[str, Any]:
    """What the work was done on: one device, one data-parallel part, and how many parameters FLOPs are counted by."""
    known = {"gpu_name": torch.cuda.get_device_name(model.device)} if model.device.type == "cuda" else {}
    return {"gpus": 1, "dp_size": 1, "model": {"parameters": parameters(model)}, **known}


def _table(rows: Sequence[Mapping[str, float]]) -> dict[str, np.ndarray[Any, Any]]:
    names = sorted({name for row in rows for name in row})
    return {name: np.array([row.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}
