"""Samples that the trainer takes from the buffer: their weight versions and their tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from rollscope.catalog.partials.distribution import Distribution
from rollscope.catalog.partials.per_group import PerGroup
from rollscope.catalog.sequence import of_sequences
from rollscope.catalog.spec import Name, metric


@metric(
    "sampling/model_version",
    unit="version",
    good="up",
    range=(0, None),
    example="samples written by versions 7, 7 and 8: mean 7.33",
    names=(Name("trinity", "sample/model_version/{mean,max,min}"),),
)
def model_version(policy_version_min_S: Any) -> Distribution:
    """Version of the weights that wrote a sample.

    Definition: policy_version_min of every sample of the step, pooled.

    Read: Should climb with the trainer. If it stays the same while training continues, the buffer
    returns old samples or weights are not transferred.

    Check: staleness/mean; the weight synchronisation; the buffer's order.
    """
    return Distribution(of_sequences(policy_version_min_S))


@metric(
    "sampling/task_count",
    unit="tasks",
    good="context",
    range=(0, None),
    example="tasks a, a, b: 2",
    names=(Name("trinity", "sample/task_count"),),
)
def task_count(tasks_S: Any) -> PerGroup:
    """Number of different tasks among the step's samples.

    Definition: distinct task ids (group ids, if there are no task ids) over all ranks.

    Read: If it is far below the number of groups, the same prompts are repeated.

    Check: group/count; the sampler's settings; the size of the task set.
    """
    return PerGroup.of("size", np.zeros(len(tasks_S)), tasks_S, outer="count")
