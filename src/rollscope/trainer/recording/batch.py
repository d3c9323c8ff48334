"""A step's samples as the batch that the catalogue computes metrics from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from rollscope.trainer.policy.model import Transformer, parameters
from rollscope.trainer.reward import numbers
from rollscope.trainer.rollouts.player import Sample

Array = np.ndarray[Any, Any]


def sample_level(samples: Sequence[Sample], version: int, max_completion_tokens: int) -> dict[str, Any]:
    """The sample-level columns of a batch: every sample that was trained on or discarded.

    A sample without a reward has NaN, not 0.
    """
    turns = [[t.role == "assistant" for t in s.state.turns] for s in samples]
    return {
        **_rewards(samples),
        "sample": [s.id for s in samples],
        "task": [s.task.key for s in samples],
        "group": [s.group for s in samples],
        "env": [s.env for s in samples],
        "repeat": [s.repeat for s in samples],
        **_tokens(samples, max_completion_tokens),
        "stop_reason": [s.stop_reason or "" for s in samples],
        "terminated": _numbers(s.stop_reason == "stop" for s in samples),
        "turns": _numbers(map(sum, turns)),
        "conversation_turns": _numbers(1 + len(t) for t in turns),  # as veRL counts: every message, plus the prompt
        "tool_calls": _numbers(len(s.state.calls) for s in samples),
        "tool_failures": _numbers(sum(not c.ok for c in s.state.calls) for s in samples),
        "generate_seconds": _numbers(s.generate_seconds for s in samples),
        "tool_seconds": _numbers(s.tool_seconds for s in samples),
        "reward_seconds": _numbers(s.reward_seconds for s in samples),
        "policy_version_now": version,
        "policy_version_min": _numbers(s.version_min for s in samples),
        "policy_version_max": _numbers(s.version_max for s in samples),
        "trained": _numbers(s.discard_reason is None for s in samples),
        "discard_reason": [s.discard_reason or "" for s in samples],
    }


def pair_level(samples: Sequence[Sample], step: int) -> dict[str, Any]:
    """The sample-level columns of a step on pairs: a chosen answer, its rejected one, and so on.

    A pair that the step draws twice counts twice, as in its loss.
    """
    return {
        "score": _numbers(s.reward for s in samples),
        "reward": _numbers(s.reward for s in samples),
        "task": [s.task.key for s in samples],
        "group": [f"pair.{step}.{i // 2}" for i in range(len(samples))],
        "env": [s.env for s in samples],
        "prompt_tokens": _numbers(len(s.prompt_ids) for s in samples),
        "completion_tokens": _numbers(s.completion_tokens for s in samples),
        "response_tokens": _numbers(len(s.ids) for s in samples),
        "trained": np.ones(len(samples)),
    }


def _rewards(samples: Sequence[Sample]) -> dict[str, Any]:
    results = [sample.result for sample in samples]
    return {
        "score": _numbers(np.nan if r is None else r.total_reward for r in results),
        "reward": _numbers(np.nan if s.result is None else s.reward for s in samples),
        "rewards": _columns([{} if r is None else r.rewards for r in results]),
        "sample_metrics": _columns([{} if r is None else numbers(r.sample_metrics) for r in results]),
    }


def _tokens(samples: Sequence[Sample], max_completion_tokens: int) -> dict[str, Any]:
    prompts, responses = [len(s.prompt_ids) for s in samples], [len(s.ids) for s in samples]
    return {
        "prompt_tokens": _numbers(prompts),
        "completion_tokens": _numbers(s.completion_tokens for s in samples),
        "response_tokens": _numbers(responses),
        "max_completion_tokens": max_completion_tokens,
        "padded_prompt_tokens": max(prompts),
        "padded_response_tokens": max(responses),
    }


def machine(model: Transformer, peak_tflops: float = 0.0) -> dict[str, Any]:
    """The device, the data-parallel size, and the parameters that FLOPs are counted from."""
    gpu: dict[str, Any] = {"gpu_peak_tflops": peak_tflops} if peak_tflops else {}
    if model.device.type == "cuda":
        gpu["gpu_name"] = torch.cuda.get_device_name(model.device)
    return {"gpus": 1, "dp_size": 1, "model": {"parameters": parameters(model)}, **gpu}


def _numbers(values: Iterable[float]) -> Array:
    return np.array(list(values), dtype=np.float64)


def _columns(rows: Sequence[Mapping[str, float]]) -> dict[str, Array]:
    names = sorted({name for row in rows for name in row})
    return {name: _numbers(row.get(name, np.nan) for row in rows) for name in names}
