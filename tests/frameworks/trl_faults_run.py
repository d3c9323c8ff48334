"""Train with TRL's GRPO while our code fails, once for each fault.

    python trl_faults_run.py OUT FAULT...

Runs in TRL's own environment. Writes `OUT/log_history.json` of a training without a fault, and
`OUT/FAULT/log_history.json` of the others. In `fields`, the batch lacks what our hook reads.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

STEPS = 4


def main(out: str, *modes: str) -> None:
    import faults

    faults.install()
    import torch
    import trl_run

    import rollscope.sources.trl as source

    for mode in ("", *modes):
        folder = os.path.join(out, mode)
        os.makedirs(folder, exist_ok=True)
        os.environ["ROLLSCOPE_DIR"] = f"{folder}/runs"
        torch.manual_seed(0)
        trainer = trl_run.rollouts("grpo_split", folder)
        trainer.args.max_steps = STEPS
        with faults.broken(mode, f"{folder}/runs"):
            source.attach(trainer, project="tests", host=False)
            if mode == "fields":  # the last one
                without_advantages()
            trainer.train()
        with open(f"{folder}/log_history.json", "w") as file:
            json.dump(trainer.state.log_history, file)
        print(f"{mode} ended at step {trainer.state.global_step}", file=sys.stderr)


def without_advantages() -> None:
    """A batch as a version of TRL would give it that calls its advantages otherwise."""
    from rollscope.sources.trl import batch

    real = batch.Batch.__init__

    def lacking(self: Any, trainer: Any, scored: Any, output: dict[str, Any], rewards: Any) -> None:
        real(self, trainer, scored, {name: value for name, value in output.items() if name != "advantages"}, rewards)

    batch.Batch.__init__ = lacking  # type: ignore[method-assign]


if __name__ == "__main__":
    main(*sys.argv[1:])
