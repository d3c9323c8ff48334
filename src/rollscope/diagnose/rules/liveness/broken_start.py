"""What must hold before a policy has moved: the first step shows whether a pipeline is right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rollscope.diagnose.finding import Advice, Finding, Severity
from rollscope.diagnose.needs import AboutRun, FromSamples
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.known import GROUP_STD, LENGTH
from rollscope.diagnose.rule import Series, rule

FIRST = 1  # the last step that may be the first: some frameworks count from 1
POINTS = 5  # of the opening whose median counts
TOKEN = 0.5  # of a token: answers shorter than this are empty
EPOCHS = ("num_iterations", "ppo_epochs", "num_ppo_epochs", "epochs", "update_epochs")
STALE = ("staleness/max", "staleness/generated/max", "staleness/trained/mean", "staleness/mean")
REFERENCE = ("policy/kl_ref_k3", "policy/kl_ref_k3_weighted", "policy/kl_ref_abs")
ADVICE = (Advice("Fix the pipeline before the policy", "slime's step-0 checks, skillsbench#775"),)


@rule(
    "broken-start",
    needs=(AboutRun(),),
    optional=(
        *("policy/ratio/mean", STALE, "advantage/std", GROUP_STD, LENGTH, REFERENCE, "critic/loss"),
        FromSamples("wordless_share"),
    ),
)
def broken_start(
    about: About,
    ratio: Series | None = None,
    stale: Series | None = None,
    advantage: Series | None = None,
    spread: Series | None = None,
    length: Series | None = None,
    reference: Series | None = None,
    critic: Series | None = None,
    wordless: Series | None = None,
    *,
    off: float = 0.05,
    lost: float = 0.1,
    away: float = 0.05,
    unread: float = 0.5,
) -> Iterator[Finding]:
    """The pipeline is broken: its first step shows what no policy can cause.

    Before the first update, trainer and sampler hold the same weights, so the mean ratio is 1 and
    KL to a reference that is the starting point is 0. Advantages vary as the rewards in their
    groups do, divided by their spread or not. Answers have tokens, and tokens have a text. A
    resumed run, old samples and several passes over one batch are other cases, and are not judged.
    """
    if ratio is not None and _is_first(ratio) and not _moved(about, stale):
        yield from _ratio(ratio, off)
    if advantage is not None and spread is not None and critic is None:
        yield from _advantages(advantage, spread, lost)
    if length is not None and _is_first(length):
        yield from _empty(length)
    if reference is not None and _is_first(reference) and not _moved(about, stale):
        yield from _reference(reference, away)
    if wordless is not None and _is_first(wordless):
        yield from _wordless(wordless, unread)


def _is_first(series: Series) -> bool:
    """Does the series begin with the run? A resumed one has lived before."""
    return int(series.step[0]) <= FIRST


def _moved(about: About, stale: Series | None) -> bool:
    """May the weights of the first step be others than those that sampled?"""
    passes = about.setting(*EPOCHS)
    several = isinstance(passes, int | float) and passes > 1
    return several or (stale is not None and float(stale.value[0]) > 0)


def _ratio(ratio: Series, off: float) -> Iterator[Finding]:
    first = float(ratio.value[0])
    if abs(first - 1) > off:
        said = f"The mean ratio of the first step is {first:.4g}, and no update was made before it."
        look = ("Masks and shifts of the two log-probabilities", "Temperature of sampler and trainer")
        yield _broken("The first ratio is not 1", said, ratio, look)


def _advantages(advantage: Series, spread: Series, lost: float) -> Iterator[Finding]:
    given, rewards = (float(np.median(series.value[:POINTS])) for series in (advantage, spread))
    if len(advantage) >= POINTS and len(spread) >= POINTS and given < lost * rewards:
        said = f"Advantages vary by {given:.3g}, the rewards in their groups by {rewards:.3g}."
        look = ("The epsilon beside the spread that advantages are divided by", "The mean that is subtracted")
        yield _broken("Advantages do not carry the rewards", said, advantage, look)


def _empty(length: Series) -> Iterator[Finding]:
    if len(length) >= POINTS and float(length.value[:POINTS].max()) < TOKEN:
        said = f"{float(length.value[0]):.2g} tokens in the mean, from the first step on."
        yield _broken("Answers are empty", said, length, ("How the tokens are decoded", "The stop words"))


def _wordless(wordless: Series, unread: float) -> Iterator[Finding]:
    share = float(np.median(wordless.value[:POINTS]))
    if len(wordless) >= POINTS and share >= unread:
        said = f"{share:.0%} of the answers of the first steps have tokens, and no text at all."
        look = (
            "Which tokens are decoded: those of the prompt, of the padding, or none?",
            "The tokenizer of the sampler",
        )
        yield _broken("The tokens of answers decode to nothing", said, wordless, look)


def _reference(reference: Series, away: float) -> Iterator[Finding]:
    first = float(reference.value[0])
    if first > away:
        said = f"{first:.3g} nats per token at the first step; it is 0 if training began with the reference."
        look = ("Is the reference the model that was loaded?", "Chat template and masks of the reference")
        yield _broken("The reference is not the model that training began with", said, reference, look, "info")


def _broken(claim: str, evidence: str, series: Series, look: tuple[str, ...], severity: Severity = "watch") -> Finding:
    return Finding(
        step=int(series.step[0]),
        claim=claim,
        evidence=evidence,
        severity=severity,
        metrics=(series.name,),
        check=look,
        advice=ADVICE,
    )
