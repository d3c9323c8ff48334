"""How prompts and groups fit together."""

from __future__ import annotations

import numpy as np

from .chunk import Chunk, codes_of
from .registry import Numbers, aggregate


@aggregate("split_groups", "task", "group")
def split_groups(samples: Chunk) -> Numbers:
    """The share of groups that hold one sample although others of their task are in the step."""
    task, _ = samples.words("task")
    group = samples.group()
    size = np.bincount(group)[group]
    key = task + samples.step * (int(task.max(initial=0)) + 1)
    same = codes_of(key)
    lonely = (size == 1) & (np.bincount(same)[same] > 1)
    return samples.mean(lonely)
