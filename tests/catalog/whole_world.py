"""One batch with every key of the vocabulary, for laws over the whole catalogue.

`whole_world(seed, size)` reaches every computed entry, over its configurations. All its samples
have a fate, a group and an environment. `logits` have tests of their own in test_vocabulary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import rollscope.catalog.families  # noqa: F401  # fills KEYS
from rollscope.catalog.keys import KEYS
from tests.catalog.test_pair_and_episode_laws import batch_of as pairs_and_episodes
from tests.catalog.test_sample_laws import batch_of as samples
from tests.catalog.world import policy_world

CONFIGURATIONS: tuple[dict[str, str], ...] = (
    {},
    {"ratio_level": "sequence"},
    {"ratio_level": "sequence_sum", "rs_option": "seq_sum_k3", "loss_agg": "seq-mean-token-mean"},
    {"loss_mode": "gspo", "loss_agg": "seq-mean-token-sum-norm", "is_level": "sequence", "rs_option": "token_k1"},
    {"kl_penalty": "abs", "kl_loss_type": "k2"},
    *({"loss_mode": mode} for mode in ("cispo", "gpg", "geo_mean", "sapo", "dppo_tv", "dppo_kl", "kl_cov")),
)
OPERATORS = [
    {"name": "filter", "in": 12, "out": 9, "seconds": 0.1, "metrics": {"skipped": 0.25}},
    {"name": "repeat", "in": 9, "out": 18, "seconds": 0.2},
]


def whole_world(seed: int, size: int, fates: bool = True, configuration: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    width = 10
    batch = pairs_and_episodes(seed, size) | samples(seed, size, fates)
    batch |= policy_world(seed, size, width, **CONFIGURATIONS[configuration])
    del batch["tokens_before"]
    counts = {"completion_tokens": batch["action_mask"], "response_tokens": batch["valid_mask"]}
    batch |= {name: mask.sum(1).astype(float) for name, mask in counts.items()}  # facts that agree
    return batch | {
        "repeat": rng.integers(0, 3, size),
        "terminated": rng.integers(0, 2, size).astype(float),
        "task_pass_rate": rng.random(size),
        "reward_ranges": {"a": (-0.5, 1.0), "b": (-1.0, 2.0)},
        "operators": OPERATORS,
        "logp_level": "token",
        "gpu_peak_tflops": 100.0,
        "dp_size": 2.0,
        "num_experts": 4.0,
        "expert_counts": rng.integers(0, 9, (2, 4)),
        "scheduler": {"running": 3.0, "waiting": 1.0},
    }


def keys_left_out(batch: dict[str, Any]) -> set[str]:
    return set(KEYS) - set(batch)
