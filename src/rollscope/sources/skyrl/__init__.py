"""SkyRL's dumps: `trainer.dump_eval_results=true` and `trainer.dump_data_batch=true`.

`dumped_evals/global_step_{N}_evals/{source}.jsonl` holds the samples of an evaluation,
`aggregated_results.jsonl` its numbers, `dumped_data/global_step_{N}_training_input.pkl` the batch
that a step trained on: tokens without text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rollscope.sources import Item, Since

from . import batches, evaluations

NAMES = ("skyrl", "skyrl dump")


def recognises(path: Path) -> bool:
    return evaluations.recognises(path) or batches.recognises(path)


def rows(path: Path, since: Since) -> Iterator[Item]:
    yield from (batches if path.suffix == batches.SUFFIX else evaluations).rows(path, since)
