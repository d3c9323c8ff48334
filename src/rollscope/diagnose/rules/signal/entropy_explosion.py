"""Entropy that grows far beyond its opening while nothing gets better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollscope.diagnose.curves.opening import opening
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import Evaluations
from rollscope.diagnose.reading.evaluation import Evaluation
from rollscope.diagnose.reading.known import ENTROPY, REWARD
from rollscope.diagnose.reading.progress import improves
from rollscope.diagnose.rule import Series, rule

PATIENCE = 10


@rule("entropy-explosion", needs=(ENTROPY, REWARD), optional=(Evaluations(),))
def entropy_explosion(
    entropy: Series,
    reward: Series,
    evaluations: Sequence[Evaluation] | None = None,
    *,
    times: float = 2.0,
    bad: float = 4.0,
    least: float = 0.05,
) -> Iterator[Finding]:
    """The policy dissolves: entropy is more than twice its opening while the score does not rise.

    Answers turn into noise. An entropy bonus that is too large does this, and so does a learning
    rate that is too high, or off-policy data without a correction. Entropy that rises together with
    the score is exploration, and no alarm.
    """
    first = opening(entropy)
    if first is None or first.level <= 0:
        return
    now = level(entropy.value, 5)
    high = (now > times * first.level) & (now - first.level > max(least, 4 * first.noise))
    start = last_stretch(high)
    if len(now) - start < PATIENCE or improves(reward, evaluations):
        return
    last = float(now[-1])
    yield Finding(
        step=int(entropy.step[start]),
        claim="Entropy exploded",
        evidence=f"{last:.3g} nats now, {first.level:.3g} at the opening; the score does not rise.",
        severity="bad" if last > bad * first.level else "watch",
        metrics=(entropy.name, reward.name, "policy/kl_ref_k3"),
        check=("The samples: are they still sentences?", "Entropy bonus and learning rate", "Staleness and mismatch"),
        advice=(Advice("Lower the entropy coefficient, then the learning rate", "verl#2738, rllm#116"),),
    )
