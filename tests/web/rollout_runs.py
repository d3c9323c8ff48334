"""A small run with everything Rollouts shows: `python tests/web/rollout_runs.py FOLDER`.

The reward falls at step 30 because the tool answers of one environment are cut. One prompt is
solved and then forgotten, one is never solved. The run has tool calls that fail, dropped groups
with a reason, values per token, hostile text, and pictures inside and outside its folder.
"""

from __future__ import annotations

import os
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import rollscope as rs

HOSTILE = (
    '<img src=x onerror="document.title=\'owned\'"></script><script>document.title="owned"</script> '
    '[go](javascript:document.title="owned") https://evil.example '
    "\u202eesrever\u202c \x1b[31mred\x1b[0m \ud800 \x00end"
)
STEPS, FALL = 40, 30
TASKS = (
    "Using [3, 7, 8], make 29",
    "Using [2, 5, 9], make 43",
    "Using [11, 4, 6], make 50",
    "Using [1, 2, 3], make 99",
)


def rewards(step: int, task: int, rng: np.random.Generator) -> list[float]:
    """Task 0 is learned and forgotten, 1 is learned, 2 needs tools, 3 is never solved."""
    if task == 3:
        return [0.0] * 8
    level = {0: 0.9 if 10 <= step < FALL else 0.0, 1: min(1.0, 0.3 + step / 40), 2: 0.8 if step < FALL else 0.3}[task]
    values = np.where(rng.random(8) < level, 2.0, np.where(rng.random(8) < 0.5, 1.0, 0.0))
    if task in (0, 1) and level >= 0.9:
        values[0] = 2.0
    return [float(min(r, 1.0)) if task == 0 and level == 0 else float(r) for r in values]


def sample(step: int, task: int, repeat: int, reward: float, rng: np.random.Generator, spread: bool) -> dict[str, Any]:
    cut = task == 2 and step >= FALL and reward < 2
    text = f"Let me try. 3 * 7 = 21, and 21 + 8 = 29. Answer {repeat}: {'yes' if reward == 2 else 'no'}." + (
        " Wait, let me think again." * (30 if cut else 2)
    )
    tokens = [w if i == 0 else f" {w}" for i, w in enumerate(text.split(" "))]
    logp = -rng.exponential(0.5, len(tokens)).astype(np.float32)
    row: dict[str, Any] = {
        "id": f"s{step}.{task}.{repeat}",
        "group": f"g{step}.{task}",
        "task": TASKS[task],
        "repeat": repeat,
        "env": "tools" if task == 2 else "countdown",
        "split": "train",
        "reward": reward,
        "score": reward,
        "rewards": {"equation": float(reward == 2), "format": float(reward >= 1)},
        "sample_metrics": {"accuracy": reward / 2},
        "advantage": reward - 1,
        "prompt": f"{TASKS[task]}.",
        "completion": text,
        "completion_tokens": 1024 if cut else len(tokens),
        "prompt_tokens": 12,
        "stop_reason": "length" if cut else "stop",
        "trained": spread,
        "discard_reason": None if spread else "zero_advantage",
        "generate_seconds": 1.5,
        "policy_version_min": max(0, step - 1),
        "policy_version_max": step,
        "off_policy_steps": 1,
        "tokens": tokens,
        "logp": logp,
        "rollout_logp": logp - 0.02,
        "entropy": -logp,
        "token_advantages": np.full(len(tokens), reward - 1, np.float32),
    }
    if task == 2:
        row |= {"tokens": None, "turns": _turns(text, len(tokens), failed=repeat % 3 == 0)}
    return row


def _turns(text: str, tokens: int, failed: bool) -> list[dict[str, Any]]:
    call = {
        "role": "tool",
        "tool": "calculator",
        "arguments": '{"expression": "11*4+6"}',
        "result": "Traceback: division by zero" if failed else "50",
        "ok": not failed,
        "seconds": 0.012,
    }
    return [
        {"role": "assistant", "content": "I will use the calculator.", "tokens": 6, "seconds": 0.4},
        call,
        {"role": "assistant", "content": text, "tokens": tokens, "seconds": 1.1},
    ]


def picture(path: Path) -> None:
    """An 8 by 8 PNG."""
    raw = b"".join(b"\0" + bytes([40 * y % 256, 90, 200]) * 8 for y in range(8))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress(raw))
        + chunk(b"IEND", b"")
    )


def hostile(folder: Path) -> list[dict[str, Any]]:
    """Samples of the last step that try to run code or read files outside the run."""
    outside = folder.parent / "outside.png"
    picture(outside)
    picture(folder / "media" / "inside.png")
    (folder / "media" / "page.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="owned"</script></svg>'
    )
    os.symlink(outside, folder / "media" / "link.png")
    media = [
        {"kind": "image", "path": p}
        for p in (
            "media/inside.png",
            "media/link.png",
            "../outside.png",
            "/etc/passwd",
            "media/none.png",
            "media/page.svg",
            "javascript:alert(1)",
        )
    ]
    base = {
        "group": "hostile",
        "task": HOSTILE,
        "env": "countdown",
        "split": "train",
        "reward": 0.0,
        "advantage": 0.0,
        "trained": True,
        "stop_reason": HOSTILE,
    }
    return [
        {
            **base,
            "id": "hostile-1",
            "prompt": HOSTILE,
            "completion": HOSTILE,
            "media": media,
            "rewards": {HOSTILE: 1.0},
        },
        {**base, "id": "hostile-2", "prompt": HOSTILE, "completion": HOSTILE + " xyzzy"},
    ]


def record(folder: Path, name: str = "rolls") -> None:
    rng = np.random.default_rng(1)
    with rs.init(
        project="rolls", name=name, id=name, dir=folder, algorithm="grpo", host=False, config={"lr": 1e-6}
    ) as run:
        for env in ("countdown", "tools"):
            run.declare(
                env=env,
                reward_min=0,
                reward_max=2,
                metrics_ranges={"format": (0, 1), "equation": (0, 1), "accuracy": (0, 1)},
            )
        for step in range(STEPS):
            rows: list[dict[str, Any]] = []
            for task in range(4):
                values = rewards(step, task, rng)
                rows += [sample(step, task, i, r, rng, len(set(values)) > 1) for i, r in enumerate(values)]
            if step == STEPS - 1:
                rows += hostile(folder / name)
            run.log_samples(step=step, samples=rows)
            mean = float(np.mean([row["reward"] for row in rows]))
            run.log({"reward/generated/mean": mean, "policy/entropy": 1.0 - step / 100}, step=step)
            run.commit(step)


if __name__ == "__main__":
    record(Path(sys.argv[1]))
