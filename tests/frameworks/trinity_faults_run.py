"""Log and explore with Trinity-RFT while our code fails, once for each fault: `... OUT FAULT...`.

Runs in veRL's environment with Trinity-RFT beside it. Its monitors log, and its operators process
experiences, as its trainer and its explorer call them. `OUT/FAULT` holds its TensorBoard files. In
`fields`, an experience lacks what our operator reads.
"""

from __future__ import annotations

import asyncio
import os
import sys
from types import SimpleNamespace as Space
from typing import Any

STEPS = 3
MONITORS = ("rollscope.sources.trinity.RollscopeMonitor", "tensorboard")


def main(out: str, *modes: str) -> None:
    import faults

    faults.install()
    faults.FREE = 2_000  # less is written here than in other trainings
    for mode in ("", *modes):
        folder = os.path.join(out, mode)
        os.makedirs(folder, exist_ok=True)
        os.environ["ROLLSCOPE_DIR"] = f"{folder}/runs"
        with faults.broken(mode, f"{folder}/runs"):
            run(folder, mode)
        print(f"{mode} ended at step {STEPS}", file=sys.stderr)


def run(folder: str, mode: str) -> None:
    import pandas as pd
    from trinity.buffer.operators import create_operators
    from trinity.common.config import OperatorConfig
    from trinity.utils.monitor import MONITOR

    config = Space(
        monitor=Space(cache_dir=folder, monitor_args={"host": False}), algorithm=Space(algorithm_type="grpo")
    )
    about: dict[str, Any] = {"project": "p", "group": "g", "name": "n", "role": "trainer", "config": config}
    monitors = [MONITOR.get(name)(**about) for name in MONITORS]
    args = {"project": "p", "name": "n", "host": False}
    (operator,) = create_operators([OperatorConfig(name="rollscope.sources.trinity.RollscopeOperator", args=args)])
    for step in range(STEPS):
        given = [experience(step, number, mode == "fields") for number in range(4)]
        kept, metrics = asyncio.run(operator.process(given))
        assert kept is given and metrics == {}
        for monitor in monitors:
            monitor.log({"actor/pg_loss": step / 3, "critic/score/mean": kept[1].reward}, step)
        monitors[0].log_table("examples", pd.DataFrame([{"prompt": "q", "response": "a", "reward": 0.5}]), step)
    asyncio.run(operator.close())
    for monitor in monitors:
        monitor.close()


def experience(step: int, number: int, lacking: bool) -> Any:
    import torch
    from trinity.common.experience import EID, Experience

    known = {"reward": number / 2, "prompt_text": "q", "response_text": "a" * 2000}
    made = Experience(
        eid=EID(batch=step, task=number // 2, run=number % 2), tokens=torch.arange(9), prompt_length=2, **known
    )
    if lacking:
        del made.truncate_status
    return made


if __name__ == "__main__":
    main(*sys.argv[1:])
