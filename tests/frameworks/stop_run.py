"""Train until somebody asks to stop, in a framework's own environment.

    python stop_run.py trl|verl OUT

Prints the last step of this rank.
"""

from __future__ import annotations

import os
import sys
import time
from types import SimpleNamespace


def trl(out: str) -> int:
    import trl_run
    from trl import GRPOConfig, GRPOTrainer

    from rollscope.sources.trl import attach

    tok = trl_run.tokenizer()
    model = trl_run.policy(tok)
    settings = trl_run.common(out, max_steps=4000, per_device_train_batch_size=4, num_generations=4)
    trainer = GRPOTrainer(
        model,
        args=GRPOConfig(**settings, max_completion_length=4),
        train_dataset=trl_run.Dataset.from_dict({"prompt": trl_run.WORDS * 8}),
        reward_funcs=[trl_run.digit_reward],
        processing_class=tok,
    )
    attach(trainer, id="r", dir=f"{out}/runs", host=False)
    trainer.train()
    return trainer.state.global_step


class Trainer:
    """The loop of veRL's PPO trainer, as far as it decides which step is the last."""

    def __init__(self, out: str) -> None:
        self.config = SimpleNamespace(trainer=SimpleNamespace(save_freq=-1))
        self.total_training_steps, self.out = 4000, out

    def fit(self) -> int:
        from verl.utils.tracking import Tracking

        logger = Tracking("p", "r", ["rollscope"], {})
        self.global_steps = 1
        while True:
            time.sleep(0.05)
            is_last_step = self.global_steps >= self.total_training_steps
            data = {"actor/pg_loss": 0.25}
            if self.config.trainer.save_freq > 0 and is_last_step:
                os.makedirs(f"{self.out}/out/checkpoint-{self.global_steps}")
                data["timing_s/save_checkpoint"] = 0.1
            logger.log(data=data, step=self.global_steps)
            self.global_steps += 1
            if is_last_step:
                return self.global_steps - 1


def verl(out: str) -> int:
    os.environ |= {"ROLLSCOPE_DIR": f"{out}/runs", "ROLLSCOPE_RUN_ID": "r"}
    import rollscope.sources.verl.plugin

    rollscope.sources.verl.plugin.plug()
    return Trainer(out).fit()


if __name__ == "__main__":
    last = {"trl": trl, "verl": verl}[sys.argv[1]](sys.argv[2])
    print(f"rank {os.environ.get('RANK', '0')} ended after step {last}", flush=True)
