"""Two runs compared in full: what differs, where they part, which is better, what is noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from rollscope.statistics.noise import Noise
from rollscope.store.run import Run

from . import sentence
from .outcome import Outcome, end_of, on_evals, on_metric, score_of
from .partings import Parting, partings
from .replicas import Group, Record, group_of, groups, noise_of
from .settings import Difference, differences, settings

REWARDS = ("reward/trained/mean", "reward/mean", "reward/generated/mean", "env/success_once", "score/mean")


@dataclass(frozen=True, slots=True)
class Comparison:
    """B against A, each with its replicas."""

    a: Group
    b: Group
    settings: list[Difference]
    metrics: list[Parting]  # of the two runs themselves, those that part first on top
    outcomes: list[Outcome]  # one for each common evaluation set
    reward: Outcome | None
    noise: Noise
    noise_in: str  # the metric or set whose noise it is; empty: nothing to measure it by

    @property
    def says(self) -> list[str]:
        """The comparison in sentences."""
        found = [sentence.verdict(self.outcomes), sentence.parting(self.metrics)]
        n = len(self.a.runs), len(self.b.runs)
        return [*found, sentence.floor(self.noise, self.noise_in, *n)] if self.noise_in else found


def compare(
    one: Run, other: Run, records: Sequence[Record], open_run: Callable[[str], Run], alone: bool = False
) -> Comparison:
    """Compare B with A. `records` are the runs of the project; `alone` leaves replicas out."""
    a, b = (Group((run,)) if alone else group_of(run, records, open_run) for run in (one, other))
    if b.ids[0] in a.ids or a.ids[0] in b.ids:  # two seeds of one configuration
        a, b = Group((one,)), Group((other,))
    metrics = partings(one, other)
    outcomes = on_evals(a, b)
    reward = reward_of(p.metric for p in metrics)
    measured, value = measure(outcomes, reward)
    noise = noise_of(groups(records), lambda id: value(open_run(id))) if measured else Noise(float("nan"), 0, 0, 0)
    found = differences([settings(one), settings(other)])
    return Comparison(a, b, found, metrics, outcomes, on_metric(a, b, reward) if reward else None, noise, measured)


def reward_of(names: Iterable[str]) -> str:
    """The reward among the metrics of both; empty if there is none."""
    known = set(names)
    return next((name for name in REWARDS if name in known), "")


def measure(outcomes: list[Outcome], reward: str) -> tuple[str, Callable[[Run], float]]:
    """What the noise is measured in: the reward, else the first evaluation set."""
    if reward:
        return reward, partial(end_of, metric=reward)
    if outcomes:
        return outcomes[0].name, partial(score_of, name=outcomes[0].name)
    return "", lambda run: float("nan")
