"""A batch with every key of the vocabulary, so that every computed entry has its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

WORDS = {
    "loss_mode": "gspo",
    "loss_agg": "seq-mean-token-sum-norm",
    "is_level": "sequence",
    "rs_option": "token_k1",
    "kl_penalty": "abs",
    "kl_loss_type": "k2",
}


def tokens_of(rng: np.random.Generator, rows: int, width: int) -> dict[str, Any]:
    shape = (rows, width)
    old = -rng.exponential(0.7, shape)
    near = {
        name: np.minimum(old + rng.normal(0, s, shape), -1e-3)
        for name, s in (("logp", 0.1), ("ref_logp", 0.3), ("rollout_logp", 0.05), ("target_logp", 0.2))
    }
    plain = {
        name: rng.normal(size=shape) for name in ("advantages", "values", "old_values", "returns", "token_rewards")
    }
    more = {
        "entropy": rng.exponential(0.7, shape),
        "kl_full": rng.exponential(0.1, shape),
        "sum_pi_squared": rng.random(shape),
    }
    valid = np.arange(width) < rng.integers(0, width + 1, (rows, 1))
    sampled = valid & (rng.random(shape) < 0.8)
    return (
        {"old_logp": old}
        | near
        | plain
        | more
        | {"valid_mask": valid, "action_mask": sampled, "mask": sampled & (rng.random(shape) < 0.9)}
    )


def steps_of() -> dict[str, Any]:
    return {
        "clip_low": 0.05,
        "clip_high": 0.1,
        "clip_c": 1.1,
        "value_clip": 0.3,
        "is_cap": 1.02,
        "is_floor": 0.9,
        "kl_bias_correction": 1.0,
        "rs_low": 0.95,
        "rs_high": 1.05,
        "kl_coef": 0.05,
        "entropy_coef": 0.01,
        "temperature": 1.0,
        "loss": 0.3,
        "lr": 1e-6,
        "grad_norm": 0.7,
        "max_grad_norm": 0.5,
        "update_norm": 0.01,
        "param_norm": 10.0,
        "critic_lr": 1e-5,
        "critic_grad_norm": 2.0,
        "loss_scale": 16.0,
    }


def policy_world(seed: int, rows: int, width: int, **words: str) -> dict[str, Any]:
    """Token arrays, step values and scores of a policy with a critic. `words` configure it."""
    rng = np.random.default_rng(seed)
    return tokens_of(rng, rows, width) | steps_of() | {"score": rng.random(rows)} | words
