"""Discards as veRL's replay buffer counts them: in prompt groups, not in samples."""

from __future__ import annotations

from rollscope.catalog.reported import reported, verl

_GROUPS = "counts prompt groups, although its name says samples"
_SPLITS = ("training", "validation")


def _evicted(name: str, *, what: str, why: str, read: str, check: str, example: str, key: str) -> None:
    reported(
        name,
        meaning=f"Prompt groups {what}.",
        definition=f"groups {why}, in the step, as the replay buffer counted them.",
        read=read,
        check=check,
        unit="groups",
        good="down",
        example=example,
        kind="sum",
        range=(0, None),
        names=[verl(f"{split}/{key}", versions=">=0.9", note=_GROUPS) for split in _SPLITS],
    )


_evicted(
    "discarded/groups/stale",
    what="evicted from the replay buffer because they were too old",
    why="older than the limit on off-policy steps when a batch was drawn",
    read="This work was wasted: the trainer is too slow for the rollouts, or the limit is too tight.",
    check="staleness/max; discarded/groups/stale_age; the limit on asynchrony",
    example="3 groups were too old: 3",
    key="off_policy/evicted_samples",
)
_evicted(
    "discarded/groups/filtered",
    what="evicted because every answer earned the same",
    why="without spread that dynamic sampling (DAPO) dropped",
    read=(
        "The price of keeping only groups that teach something. A rise means that the data becomes "
        "too easy or too hard."
    ),
    check="group/zero_spread; group/all_pass and group/all_fail",
    example="12 groups without spread: 12",
    key="filter_groups/evicted_samples",
)
_evicted(
    "discarded/groups/surplus",
    what="thrown away because the batch was already full",
    why="generated ahead to replace filtered ones and not needed",
    read="Large values mean that too much is generated ahead.",
    check="discarded/groups/filtered; how many groups are requested at once",
    example="4 groups too many: 4",
    key="filter_groups/discarded_surplus_samples",
)
_evicted(
    "discarded/groups/failed",
    what="evicted because their rollout failed",
    why="without a usable trajectory",
    read="These are faults of the environment or the engine, not of the policy.",
    check="stop/error; length/aborted; the environment's log",
    example="2 groups failed: 2",
    key="rollout_failure/evicted_samples",
)
reported(
    "discarded/groups/stale_age",
    meaning="Age of the prompt groups that were evicted because they were too old.",
    definition=(
        "updates since the group was requested, over the groups evicted in the step, as the replay buffer measured it."
    ),
    read="If it is just above the limit, a slightly higher limit would save these groups.",
    check="staleness/max; discarded/groups/stale",
    unit="updates",
    good="context",
    example="groups 9 and 11 updates old: mean 10",
    kind="distribution",
    stats=("mean", "max", "min"),
    range=(0, None),
    names=[
        verl(f"{split}/off_policy/evicted_samples_staleness/{{mean,max,min}}", versions=">=0.9") for split in _SPLITS
    ],
)
