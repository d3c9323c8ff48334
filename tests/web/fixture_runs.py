"""Synthetic runs for the tests and pictures of the web: `python tests/web/fixture_runs.py FOLDER`.

`grpo-7` goes wrong at step 212: KL takes off, answers grow until they are cut, the reward turns.
The other runs finished, crashed, or learned more slowly. They have gaps, a NaN, an infinity, a
constant, an evaluation every 50 steps, samples with hostile text, and spans.
"""

from __future__ import annotations

import contextlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

import rollscope as rs

HOSTILE = (
    '<img src=x onerror="document.title=\'owned\'"> </script><script>document.title="owned"</script> '
    "[link](javascript:alert(1)) \u202eesrever\u202c \x1b[31mred\x1b[0m"
)
TURN = 212  # where grpo-7 starts to go wrong


def curve(step: int, rng: np.random.Generator, bad: bool) -> dict[str, float]:
    """Every metric of one step."""
    late = max(0, step - TURN) if bad else 0
    grown = 1 - math.exp(-step / 120)
    reward = 0.17 + 0.42 * grown - 0.0016 * late + rng.normal(0, 0.008)
    length = 380 + 25 * grown + 5.2 * max(0, late - 10) + rng.normal(0, 6)
    noise = float(rng.normal(0, 1))
    out = {
        "reward/generated/mean": reward,
        "reward/trained/mean": min(0.98, reward + 0.12 + 0.1 * grown * math.exp(-late / 60) + rng.normal(0, 0.005)),
        "reward/generated/std": 0.31 + 0.02 * noise,
        "policy/entropy": (0.62 * math.exp(-step / 240) + 0.02) * (1 + 0.02 * noise),
        "policy/kl_ref_k3": 0.0008 + 0.0000075 * step + (0.0003 * late) + abs(rng.normal(0, 0.0003)),
        "policy/kl_update_k1": 0.0004 + abs(rng.normal(0, 0.0001)) + 0.00001 * late,
        "policy/clip/region": 0.06 + 0.004 * abs(noise) + 0.004 * late,
        "policy/clip/low": 0.03 + 0.002 * abs(noise),
        "policy/clip/high": 0.03 + 0.003 * abs(noise),
        "policy/ratio/mean": 1 + 0.002 * noise,
        "policy/loss_total": 0.02 * noise - 0.01,
        "optimiser/grad_norm": 0.4 + 0.05 * abs(noise) + (2.5 if step % 97 == 50 else 0),
        "optimiser/lr": 1e-6 * min(1, (step + 1) / 20),
        "length/completion/generated/mean": length,
        "length/completion/generated/max": min(1024.0, length * 1.9),
        "length/truncated/generated": min(0.4, 0.03 + 0.0028 * max(0, late - 20) + abs(rng.normal(0, 0.004))),
        "group/zero_spread": min(0.6, 0.08 + 0.22 * grown + rng.normal(0, 0.01)),
        "group/reward_gini": 0.5 - 0.2 * grown + 0.01 * noise,
        "discarded/share": min(0.6, 0.06 + 0.2 * grown + rng.normal(0, 0.01)),
        "perf/throughput": (1790 - (240 if late > 3 else 0)) * (1 + 0.008 * noise),
        "time/step": 21.6 + 0.4 * noise + 0.03 * late,
        "time/generate": 12.4 + 0.3 * noise + 0.03 * late,
        "time/forward": 3.1,
        "time/backward": 4.2,
        "time/weight_sync": 0.9,
        "time/waiting_for_data": 2.1 + 0.2 * abs(noise),
        "host/cpu_percent": 41 + 5 * noise,
        "custom/loss/auxiliary": 0.3 + 0.01 * noise,
        "custom/constant": 0.25,
    }
    if 120 <= step < 150:
        del out["custom/loss/auxiliary"]  # a gap
    if step in (60, 61, 180):
        out["critic/loss"] = math.nan if step < 100 else math.inf
    else:
        out["critic/loss"] = 0.8 * math.exp(-step / 90) + 0.05 + 0.01 * abs(noise)
    return out


def samples(step: int, rng: np.random.Generator, bad: bool) -> list[dict[str, Any]]:
    rows = []
    for group in range(4):
        numbers = rng.integers(2, 90, 3).tolist()
        target = int(rng.integers(5, 95))
        for repeat in range(8):
            cut = bad and step > TURN and rng.random() < 0.4
            reward = 0.0 if cut else float(rng.choice([0.0, 0.5, 1.0]))
            text = (
                f"Let me try. {numbers[0]} + {numbers[1]} = {numbers[0] + numbers[1]}, and that is not {target}. "
                + ("Wait, let me think again. " * (30 if cut else 3))
            )
            if group == 0 and repeat == 0:
                text = HOSTILE + " " + text
            rows.append(
                {
                    "id": f"s{step}-{group}-{repeat}",
                    "group": f"g{step}-{group}",
                    "task": f"task{group}",
                    "env": "countdown",
                    "reward": reward,
                    "advantage": reward - 0.5,
                    "prompt": f"Using the numbers {numbers}, create an equation that equals {target}.",
                    "completion": text,
                    "completion_tokens": 1024 if cut else int(rng.integers(120, 420)),
                    "stop_reason": "length" if cut else "stop",
                    "trained": group != 3,
                    "discard_reason": "zero spread" if group == 3 else None,
                }
            )
    return rows


def record(folder: Path, name: str, steps: int, seed: int, bad: bool = False, **more: Any) -> Any:
    rng = np.random.default_rng(seed)
    config = {
        "model": "Qwen/Qwen2.5-3B",
        "lr": more.pop("lr", 1e-6),
        "batch_size": 64,
        "group_size": 8,
        "kl_coef": 0.001,
        "clip_low": 0.2,
        "clip_high": 0.28,
        "temperature": 1.0,
        "max_completion_tokens": 1024,
        "seed": seed,
        "env": {"name": "countdown"},
    }
    run = rs.init(
        project="countdown",
        name=name,
        id=name,
        config=config,
        dir=folder,
        algorithm=more.pop("algorithm", "grpo"),
        steps=1000,
        host=False,
        **more,
    )
    run.declare(env="countdown", reward_min=0, reward_max=1)
    for step in range(steps):
        run.log(curve(step, rng, bad), step=step)
        if step % 50 == 0:
            late = max(0, step - TURN) if bad else 0
            run.log({"eval/gsm8k/score/mean@4": 0.26 + 0.32 * (1 - math.exp(-step / 110)) - 0.0009 * late}, step=step)
        if step % 20 == 0 or step == steps - 1:
            run.log_samples(step=step, samples=samples(step, rng, bad))
        run.commit(step)
    return run


def crash(folder: Path) -> None:
    with contextlib.suppress(RuntimeError), record(folder, "ppo-critic", 241, 3, algorithm="ppo"):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")


def make(folder: Path) -> Any:
    """All of them; gives the run that is still being recorded."""
    folder.mkdir(parents=True, exist_ok=True)
    record(folder, "grpo-6", 400, 1, tags=["baseline"]).finish()
    crash(folder)
    record(folder, "rloo-lr2e6", 300, 4, algorithm="rloo", lr=2e-6, tags=["ablation"]).finish()
    return record(folder, "grpo-7", 313, 7, bad=True)


if __name__ == "__main__":
    live = make(Path(sys.argv[1]))
    if "--finish" in sys.argv:
        live.finish()
