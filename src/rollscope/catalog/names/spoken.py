"""The dialect that a run speaks: what it was recorded with, else what its names are evidence of.

The run's framework decides, then its algorithm, then the names logged beside each other. A name
that only one framework logs counts more than one that several log. Trainers that log the same names
are told apart by how common they are: GRPO comes before RLOO.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from rollscope.catalog.spec import METRICS, Name
from rollscope.errors import BadInput

from .dialect import FIRST, FRAMEWORKS, LATER, Dialect, spoken_by
from .index import indexes
from .match import EVALUATION

PREFIXES = ("train/", *EVALUATION)  # that trackers put before a name
TRAINERS = {"reward_model": ("reward", "rm")}  # our word for an algorithm -> the frameworks' trainers
COMMON_FIRST = ("grpo", "ppo", "dpo", "sft", "reward", "rm")
SHOWN = 3  # names that the sentence about the evidence lists


@dataclass(frozen=True, slots=True)
class Spoken:
    """A dialect, how it was decided, and the algorithm that narrows names of other frameworks."""

    dialect: str | None = None
    algorithm: str = ""
    why: str = ""

    def trains(self, name: Name) -> bool:
        """Whether a framework's name can belong to a run of this algorithm."""
        trainers = _trainers_of(self.algorithm)
        return not name.trainer or not trainers or bool(trainers & set(name.trainer.split(",")))


def spoken(names: Iterable[str], framework: str | None = None, algorithm: str | None = None) -> Spoken:
    """The dialect of a run with these stored names and recorded facts."""
    names, dialect, algorithm = tuple(names), _known(framework), (algorithm or "").lower()
    if dialect and dialect.trainer:
        return Spoken(framework, algorithm or dialect.trainer, f"the run's framework is {framework}")
    evidence = _evidence(names)
    chosen = dialect.framework if dialect else _later(names) or _most(_by_framework(evidence), FIRST)
    if not chosen:
        return Spoken(None, algorithm)
    trainer = _trainer(chosen, algorithm, evidence)
    version = f"@{dialect.version}" if dialect and dialect.version else ""
    said = f"{chosen}{f':{trainer}' if trainer else ''}{version}"
    why = _sentence(said, framework if dialect else None, _logged_by(chosen, names, evidence))
    return Spoken(said, algorithm or trainer, why)


def _known(framework: str | None) -> Dialect | None:
    """The dialect of the framework that was recorded; None for one without names of its own."""
    try:
        return Dialect.parse(framework) if framework else None
    except BadInput:
        return None


def _sentence(said: str, framework: str | None, names: list[str]) -> str:
    if framework == said:
        return f"the run's framework is {said}"
    return f"the run logs {said} names, such as {' and '.join(sorted(names)[:SHOWN])}" if names else f"it is {said}"


def _logged_by(framework: str, names: Iterable[str], evidence: dict[str, tuple[Name, ...]]) -> list[str]:
    if framework in LATER:
        return [name for name in names if any(who == framework for who, _ in _speakers(name))]
    return [key for key, vias in evidence.items() if any(via.framework == framework for via in vias)]


def _evidence(names: Iterable[str]) -> dict[str, tuple[Name, ...]]:
    """The run's names that are not ours -> the frameworks' names they may be."""
    found = {name: vias for name in names if (vias := _vias(name))}
    return {_bare(name): vias for name, vias in found.items()}


@lru_cache(100_000)
def _vias(name: str) -> tuple[Name, ...]:
    """The frameworks' names that a logged name may be; none if it may as well be one of ours.

    A pattern that begins with a placeholder fits too much to be evidence.
    """
    vias = () if _is_ours(name) else [match.via for match in indexes()[1].find(_bare(name), _is_evidence) if match.via]
    return tuple(via for via in vias if Dialect(via.framework).speaks(via))


def _is_ours(name: str) -> bool:
    """Whether a logged name may as well be one of ours."""
    (ours, theirs), bare = indexes(), _bare(name)
    if name in ours.literal or bare in ours.literal:
        return True
    return bare not in theirs.literal and bool(ours.find(name) or (bare != name and ours.find(bare)))


def _is_evidence(name: Name | None) -> bool:
    return name is not None and name.framework in FIRST and not name.key.startswith("{")


def _later(names: Iterable[str]) -> str:
    """The later framework that logs more of a run's names than any other; none if it is a tie.

    All names of one pattern count once, so that a loose pattern does not outvote exact names.
    """
    votes = Counter(framework for framework, _ in {pair for name in names for pair in _speakers(name)})
    best = max(FRAMEWORKS, key=lambda framework: votes[framework])  # the earlier one of equals
    return best if best in LATER else ""


@lru_cache(100_000)
def _speakers(name: str) -> frozenset[tuple[str, Name]]:
    """Who logs a name, as it is or behind a prefix, and what they call it; nobody if it is ours."""
    if _is_ours(name):
        return frozenset()
    found = {alias.via for text in {name, _bare(name)} for alias in indexes()[1].meanings(text)}
    logged = [via for via in found if via is not None and not via.key.startswith("{")]
    return frozenset((who, via) for who in FRAMEWORKS for via in logged if via.framework in spoken_by(who))


def _bare(name: str) -> str:
    if not name.startswith(PREFIXES):
        return name
    return next(name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix))


def _by_framework(evidence: dict[str, tuple[Name, ...]]) -> dict[str, float]:
    votes: dict[str, float] = defaultdict(float)
    for vias in evidence.values():
        frameworks = {via.framework for via in vias}
        for framework in frameworks:
            votes[framework] += 1 / len(frameworks)
    return votes


def _trainer(framework: str, algorithm: str, evidence: dict[str, tuple[Name, ...]]) -> str:
    """The trainer of a framework: the run's algorithm, else the one with most of the evidence."""
    known = _trainers_in(framework)
    if algorithm:
        return next((trainer for trainer in sorted(_trainers_of(algorithm)) if trainer in known), "")
    votes: dict[str, float] = defaultdict(float)
    for vias in evidence.values():
        trainers = {t for via in vias if via.framework in spoken_by(framework) for t in via.trainer.split(",") if t}
        for trainer in trainers:
            votes[trainer] += 1 / len(trainers)
    return _most(votes, COMMON_FIRST, leave_ties=False)


def _most(votes: dict[str, float], order: tuple[str, ...], leave_ties: bool = True) -> str:
    """The winner of a vote; of several, none, or the first in an order."""
    best = max(votes.values(), default=0.0)
    winners = [word for word, count in votes.items() if count > best - 1e-9]
    if len(winners) > 1 and leave_ties:
        return ""
    return min(winners, key=lambda word: (order.index(word) if word in order else len(order), word), default="")


def _trainers_of(algorithm: str) -> set[str]:
    """The frameworks' words for an algorithm; none if no framework has a trainer of that name."""
    words = {algorithm, *TRAINERS.get(algorithm, ())}
    return words & frozenset().union(*map(_trainers_in, FRAMEWORKS))


@lru_cache(len(FRAMEWORKS))
def _trainers_in(framework: str) -> frozenset[str]:
    indexes()  # fills METRICS
    names = (name for entry in METRICS.values() for name in entry.names if name.framework in spoken_by(framework))
    return frozenset(trainer for name in names for trainer in name.trainer.split(",") if trainer)
