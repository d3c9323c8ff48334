"""Two stores for the journeys of Rollouts: a real training, and the largest run we support.

`python tests/web/journey_runs.py trained|large FOLDER` records one. The large run repeats a few
texts.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import rollscope as rs

CONFIG = Path(__file__).parent / "countdown.toml"
PHRASE = "eventually I gave up"
WIDE, LONG, GROUPS, SIZE, CHARACTERS = 4, 5, 1250, 8, 20_000
WORDS = [
    *("so", "the", "sum", "of", "these", "numbers", "is", "not", "what"),
    *("we", "need", "wait", "again", "then", "divide", "by", "two"),
]


def trained(folder: Path) -> None:
    """Train for a few steps: countdown, and a policy with a calculator.

    The number of steps is fixed, whatever time they take. Some calls of the calculator are wrong.
    """
    from rollscope.cli.train import train
    from rollscope.trainer import config

    short = ["run.seconds=0", "warmup.steps=100", "evaluation.every=8", "evaluation.tasks=8"]
    countdown = [
        *short,
        "run.name=countdown",
        "run.steps=14",
        "environment.train_tasks=40",
        "rollout.repeats=4",
        "rollout.workers=0",
    ]
    train(config.read(CONFIG, countdown), str(folder), quiet=True)
    tools = [
        *short,
        "run.name=tools",
        "run.steps=3",
        "environment.name=calculator",
        "environment.options={}",
        "model.context=96",
        "rollout.repeats=4",
        "rollout.workers=0",
        "rollout.max_completion_tokens=24",
        "rollout.discard_group_zero_advantage=false",
    ]
    train(config.read(CONFIG, tools), str(folder), quiet=True)


def large(folder: Path) -> None:
    """Record steps 0 to 3 with 16 groups of 8, then a wide step and a long one.

    Step 4 has 1,250 groups of 8 samples of 20 kB, and the reward falls there. Step 5 has one
    completion of 10 MB.
    """
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
    """A sample of the large run.

    At the wide step, group 7 does worst and task 3, solved before, is lost. Every fifth group is
    dropped. Every third tool call of group 11 fails.
    """
    lost = step == WIDE and group % 16 in (3, 7)
    reward = 0.0 if lost else float((group + repeat) % 3 > 0)
    reward = reward - 2.0 if step == WIDE and group == 7 else reward
    failed = group == 11 and repeat % 3 == 0
    phrase = f"{PHRASE}. " if step == WIDE and group % 100 == 1 and repeat == 2 else ""
    text = texts[(group + repeat) % 8] if step == WIDE else "short"
    trained = group % 5 != 0
    reason = "zero_advantage" if group % 2 else "max_async"
    row: dict[str, Any] = {
        "id": f"s{step}.{group}.{repeat}",
        "group": f"g{step}.{group}",
        "task": f"task-{group % 16}",
        "repeat": repeat,
        "env": "tools" if group == 11 else "countdown",
        "reward": reward,
        "advantage": reward - 0.5,
        "prompt": f"Using the numbers {group}, {group + 1} and 7, make {group % 16}.",
        "completion": f"Sample {repeat} of {group}: {phrase}{text}",
        "completion_tokens": 10 * repeat + 20,
        "stop_reason": "length" if repeat == 7 else "stop",
        "trained": trained,
        "discard_reason": None if trained else reason,
    }
    if group == 11:
        row["turns"] = [
            {
                "role": "tool",
                "tool": "calculator",
                "arguments": '{"expression": "1/0"}',
                "result": "Traceback: division by zero" if failed else "7",
                "ok": not failed,
                "seconds": 0.25,
            },
            {"role": "assistant", "content": row["completion"], "tokens": row["completion_tokens"], "seconds": 1.0},
        ]
    return row


if __name__ == "__main__":
    {"trained": trained, "large": large}[sys.argv[1]](Path(sys.argv[2]))
