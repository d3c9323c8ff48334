"""Record the largest run that Rollouts supports: `python bench/web/large_rollouts.py FOLDER`.

Steps 0 to 19 have 64 groups of 8. Step 20 has 1,250 groups of 8 samples of 20 kB, 200 MB of text.
Step 21 has as many short samples. Step 22 has one completion of 10 MB, one of 8,000 tokens with
log-probabilities, and one that fills a screen.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import rollscope as rs

WORDS = np.array(
    [
        *("so", "the", "sum", "of", "these", "numbers", "is", "not", "what"),
        *("we", "need", "wait", "let", "me", "think", "again", "and", "try"),
        *("another", "pair", "then", "divide", "by", "two", "which", "gives", "seven"),
    ]
)
WIDE, SHORT, ODD = 20, 21, 22
GROUPS, SIZE = 1250, 8


def text(rng: np.random.Generator, characters: int) -> str:
    return " ".join(WORDS[rng.integers(0, len(WORDS), characters // 5)].tolist())


def sample(rng: np.random.Generator, step: int, group: int, repeat: int, characters: int) -> dict[str, Any]:
    reward = float(rng.random() < 0.2 + 0.02 * step) * (2 if rng.random() < 0.7 else 1)
    return {
        "id": f"s{step}.{group}.{repeat}",
        "group": f"g{step}.{group}",
        "task": f"task-{group % 500}",
        "repeat": repeat,
        "env": "countdown" if group % 3 else "tools",
        "split": "train",
        "reward": reward,
        "score": reward,
        "advantage": reward - 1.0,
        "rewards": {"equation": reward / 2, "format": float(rng.random() < 0.9)},
        "sample_metrics": {"accuracy": reward / 2},
        "prompt": f"Using the numbers {rng.integers(1, 99, 3).tolist()}, create an equation that equals {group}.",
        "completion": text(rng, characters),
        "completion_tokens": characters // 4,
        "stop_reason": "length" if rng.random() < 0.1 else "stop",
        "trained": group % 5 != 0,
        "discard_reason": None if group % 5 else "zero spread",
        "generate_seconds": float(rng.random()),
        "policy_version_min": step - 1,
        "policy_version_max": step,
    }


def odd(rng: np.random.Generator) -> list[dict[str, Any]]:
    long = sample(rng, ODD, 0, 0, 10_000_000)
    tokens = [f" {w}" for w in WORDS[rng.integers(0, len(WORDS), 8000)].tolist()]
    logp = -rng.exponential(0.6, 8000).astype(np.float32)
    coloured = sample(rng, ODD, 1, 0, 100) | {
        "completion": "".join(tokens),
        "tokens": tokens,
        "logp": logp,
        "rollout_logp": logp + 0.01,
        "entropy": -logp,
        "token_advantages": np.full(8000, 0.4, np.float32),
    }
    return [long, coloured, sample(rng, ODD, 2, 0, 2000)]


def record(folder: Path, name: str = "large", groups: int = GROUPS, characters: int = 20_000) -> None:
    rng = np.random.default_rng(0)
    with rs.init(project="large", name=name, id=name, dir=folder, algorithm="grpo", host=False) as run:
        run.declare(env="countdown", reward_min=0, reward_max=2)
        run.declare(env="tools", reward_min=0, reward_max=2)
        for step in range(23):
            count, length = {WIDE: (groups, characters), SHORT: (groups, 200)}.get(step, (64, 400))
            for start in range(0, count, 25):
                some = range(start, min(start + 25, count))
                rows = [sample(rng, step, g, r, length) for g in some for r in range(SIZE)]
                run.log_samples(step=step, samples=rows if step != ODD else odd(rng) if not start else [])
                run.flush(60)
            run.log({"reward/mean": 0.2 + 0.02 * step, "reward/generated/mean": 0.2 + 0.02 * step}, step=step)
            run.commit(step)
        assert not run.losses, run.losses


if __name__ == "__main__":
    record(Path(sys.argv[1]))
