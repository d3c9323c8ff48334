"""Two stores for the journeys of Rollouts: one trained for real in seconds, one as large as it must bear, from a few repeated texts.

`python tests/web/journey_runs.py trained|large FOLDER` makes one of them.
"""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

import rollscope as rs

PHRASE = "eventually I gave up"
WIDE, LONG, GROUPS, SIZE, CHARACTERS = 4, 5, 1250, 8, 20_000
WORDS = (
    "so",
    "the",
    "sum",
    "of",
    "these",
    "numbers",
    "is",
    "not",
    "what",
    "we",
    "need",
    "wait",
    "again",
    "then",
    "divide",
    "by",
    "two",
)


def trained(folder: Path) -> None:
    """What `rollscope demo` trains, for a few steps (however long they take here): countdown, and a policy with a calculator that it also calls wrongly."""
    from rollscope.cli.train import train
    from rollscope.trainer import config

    short = ["run.seconds=0", "warmup.steps=100", "evaluation.every=8", "evaluation.tasks=8"]
    with resources.as_file(resources.files("rollscope.trainer") / "configs" / "countdown.toml") as path:
        countdown = [
            *short,
            "run.name=countdown",
            "run.steps=14",
            "environment.train_tasks=40",
            "rollout.repeats=4",
            "rollout.workers=0",
        ]
        train(config.read(path, countdown), str(folder), quiet=True)
    with resources.as_file(resources.files("rollscope.trainer") / "configs" / "countdown.toml") as path:
        tools = [
            *short,
            "run.name=tools",
            "run.steps=3",
            "environment.name=calculator",
            "environment.options={}",
            "model.context=96",
            "rollout.repeats=4",
            "rollout.workers=0",
        ]
        train(
            config.read(
                path, [*tools, "rollout.max_completion_tokens=24", "rollout.discard_group_zero_advantage=false"]
            ),
            str(folder),
            quiet=True,
        )


def large(folder: Path) -> None:
    """Steps 0 to 3 have 16 groups of 8. At step 4, 1,250 groups of 8 samples of 20 kB, the reward falls; step 5 has one completion of 10 MB."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, CHARACTERS // 4).tolist())[: CHARACTERS - 60] for _ in range(8)]
    with rs.init(project="large", id="large", dir=folder, algorithm="grpo", host=False) as run:
        run.declare(env="countdown", reward_min=0, reward_max=1)
        run.declare(env="tools", reward_min=0, reward_max=1)
        for step in range(LONG):
            groups = GROUPS if step == WIDE else 16
            rewards = []
            for start in range(0, groups, 125):
                rows = [_sample(step, g, i, texts) for g in range(start, min(start + 125, groups)) for i in range(SIZE)]
                rewards += [row["reward"] for row in rows]
                run.log_samples(step=step, samples=rows)
                run.flush(60)
            run.log({"reward/generated/mean": float(np.mean(rewards))}, step=step)
            run.commit(step)
        rows = [
            {
                "id": "long",
                "group": "long",
                "task": "long",
                "env": "countdown",
                "reward": 0.5,
                "prompt": "Say all of it.",
                "completion": "all of it, word by word. " * 400_000,
                "trained": True,
            }
        ]
        run.log_samples(step=LONG, samples=rows)
        run.commit(LONG)
        assert not run.losses, run.losses


def _sample(step: int, group: int, repeat: int, texts: list[str]) -> dict[str, Any]:
    """Group 7 does worst at the wide step; task 3 is solved at first and lost there; every fifth group is dropped; of group 11 each third call fails."""
    lost = step == WIDE and group % 16 in (3, 7)
    reward = 0.0 if lost else float((group + repeat) % 3 > 0)
    reward = reward - 2.0 if step == WIDE and group == 7 else reward
    failed = group == 11 and repeat % 3 == 0
    said = f"{PHRASE}. " if step == WIDE and group % 100 == 1 and repeat == 2 else ""
    kept = group % 5 != 0
    row: dict[str, Any] = {
        "id": f"s{step}.{group}.{repeat}", "group": f"g{step}.{group}", "task": f"task-{group % 16}", "repeat": repeat, "env": "tools" if group == 11 else "countdown", "reward": reward, "advantage": reward - 0.5,
        "prompt": f"Using the numbers {group}, {group + 1} and 7, make {group % 16}.", "completion": f"Sample {repeat} of {group}: {said}{texts[(group + repeat) % 8] if step == WIDE else 'short'}", "completion_tokens": 10 * repeat + 20,
        "stop_reason": "length" if repeat == 7 else "stop", "trained": kept, "discard_reason": None if kept else ("zero_advantage" if group % 2 else "max_async"),
    }  # fmt: skip
    if group == 11:
        row["turns"] = [
            {"role": "tool", "tool": "calculator", "arguments": '{"expression": "1/0"}', "result": "Traceback: division by zero" if failed else "7", "ok": not failed, "seconds": 0.25},
            {"role": "assistant", "content": row["completion"], "tokens": row["completion_tokens"], "seconds": 1.0},
        ]  # fmt: skip
    return row


if __name__ == "__main__":
    {"trained": trained, "large": large}[sys.argv[1]](Path(sys.argv[2]))
