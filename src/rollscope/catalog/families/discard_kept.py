"""Discards as frameworks count them, in units of their own: prompt groups that left a replay buffer, trajectories nobody used."""

from __future__ import annotations

from rollscope.catalog.reported import reported, verl

_GROUPS = "counts prompt groups, in spite of the word samples"
_SPLITS = ("training", "validation")


def _evicted(name: str, what: str, why: str, read: str, check: str, example: str, key: str) -> None:
    reported(
        name,
        "groups",
        "down",
        f"Prompt groups {what}.",
        f"As the replay buffer counted them in the step: groups {why}.",
        read,
        check,
        example,
        *(verl(f"{split}/{key}", versions=">=0.9", note=_GROUPS) for split in _SPLITS),
        kind="sum",
        range=(0, None),
    )


_evicted(
    "discarded/groups/stale",
    "evicted from the replay buffer for their age",
    "older than the limit on off-policy steps when a batch was drawn",
    "Generated in vain: the trainer is too slow for the rollouts, or the limit too tight.",
    "staleness/max; discarded/groups/stale_age; the limit on asynchrony",
    "3 groups were too old: 3",
    "off_policy/evicted_samples",
)
_evicted(
    "discarded/groups/filtered",
    "evicted because every answer earned the same",
    "that dynamic sampling (DAPO) dropped for having no spread",
    "The price of keeping only groups that teach. Rising, the data becomes too easy or too hard.",
    "group/zero_spread; group/all_pass and group/all_fail",
    "12 groups without spread: 12",
    "filter_groups/evicted_samples",
)
_evicted(
    "discarded/groups/surplus",
    "thrown away because the batch was already full",
    "generated ahead to make up for filtered ones, and not needed",
    "Large values mean too much is generated ahead.",
    "discarded/groups/filtered; how many groups are requested at once",
    "4 groups too many: 4",
    "filter_groups/discarded_surplus_samples",
)
_evicted(
    "discarded/groups/failed",
    "evicted because their rollout failed",
    "without a usable trajectory",
    "Faults of the environment or the engine, not of the policy.",
    "stop/error; length/aborted; the environment's log",
    "2 groups failed: 2",
    "rollout_failure/evicted_samples",
)
reported(
    "discarded/groups/stale_age",
    "updates",
    "context",
    "Age of the prompt groups that were evicted for it.",
    "As the replay buffer measured it: updates since the group was requested, over the groups evicted in the step.",
    "Just above the limit, a little more patience would save them.",
    "staleness/max; discarded/groups/stale",
    "groups 9 and 11 updates old: mean 10",
    *(verl(f"{split}/off_policy/evicted_samples_staleness/{{mean,max,min}}", versions=">=0.9") for split in _SPLITS),
    kind="distribution",
    stats=("mean", "max", "min"),
    range=(0, None),
)
