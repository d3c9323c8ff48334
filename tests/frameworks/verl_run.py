"""Run veRL's `Tracking`, metric functions and validation logger with Rollscope as a backend.

    python verl_run.py OUT

Runs in veRL's own environment. Writes `OUT/runs`, and `OUT/logged.jsonl` by veRL's file logger in
the same calls.
"""

from __future__ import annotations

import os
import sys


def main(out: str) -> None:
    os.makedirs(out, exist_ok=True)
    os.environ |= {"ROLLSCOPE_DIR": f"{out}/runs", "VERL_FILE_LOGGER_PATH": f"{out}/logged.jsonl"}
    import numpy as np
    import torch
    import verl
    from verl import DataProto
    from verl.trainer.ppo.metric_utils import compute_data_metrics, compute_timing_metrics, process_validation_metrics
    from verl.utils.tracking import Tracking, ValidationGenerationsLogger

    config = {"algorithm": {"adv_estimator": "grpo"}, "trainer": {"project_name": "p"}}
    tracking = Tracking("countdown", "grpo-1", ["console", "file", "rollscope"], config)
    generator = torch.Generator().manual_seed(0)
    for step in range(1, 6):
        shape = (8, 12)
        mask = (torch.arange(12) < torch.randint(1, 13, (8, 1), generator=generator)).long()
        draw = torch.randn(shape, generator=generator) * mask
        batch = DataProto.from_dict(
            tensors={
                "token_level_scores": draw,
                "token_level_rewards": draw,
                "advantages": draw,
                "returns": draw,
                "prompts": torch.zeros(8, 4, dtype=torch.long),
                "responses": torch.zeros(shape, dtype=torch.long),
                "attention_mask": torch.cat([torch.ones(8, 4, dtype=torch.long), mask], 1),
                "response_mask": mask,
            },
            non_tensors={"__num_turns__": np.full(8, 2)},
        )
        data = compute_data_metrics(batch, use_critic=False)
        data |= compute_timing_metrics(batch, {"step": 2.0, "gen": 1.0, "update_actor": 0.5})
        data |= {
            "training/global_step": step,
            "actor/lr": np.float32(1e-6),
            "actor/grad_norm": np.float64(0.5),
            "actor/pg_loss": 0.25,
            "odd": float("inf"),
            "text": "no number",
        }
        if step == 5:
            scores = {"reward": [0.0, 1.0, 1.0, 1.0], "acc": [0.0, 1.0, 1.0, 1.0]}
            metrics = process_validation_metrics(["gsm8k"] * 4, ["a", "a", "b", "b"], scores)
            data |= {
                f"val-core/{source}/{name}/{metric}": value
                for source, names in metrics.items()
                for name, by in names.items()
                for metric, value in by.items()
            }
            ValidationGenerationsLogger().log(["console", "rollscope"], [["2+2", "4", 1.0], ["3+3", "7", 0.0]], step)
        tracking.log(data=data, step=step)
    if hasattr(tracking, "finish"):
        tracking.finish()
    print("verl", verl.__version__)


if __name__ == "__main__":
    main(sys.argv[1])
