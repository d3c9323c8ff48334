"""A policy that its reference holds in place."""

from __future__ import annotations

from collections.abc import Iterator

from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import AboutRun
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.known import KL, REWARD
from rollscope.diagnose.reading.progress import improves
from rollscope.diagnose.rule import Series, rule

LEAST_STEPS = 60


@rule("kl-strangled", needs=(KL, REWARD, AboutRun()), order="tuning")
def kl_strangled(kl: Series, reward: Series, about: About, *, peak: float = 1e-4) -> Iterator[Finding]:
    """The policy does not move: KL to the reference stays near zero and the reward does not rise.

    The KL coefficient is too large, the learning rate too small, or the weights that are trained
    are not the ones that sample. A KL of exactly 0 only means that it is not computed.
    """
    coefficient = about.setting("beta", "kl_coef", "kl_loss_coef", "init_kl_coef")
    highest = float(kl.value.max())
    if len(kl) < LEAST_STEPS or highest == 0.0 or highest >= peak or coefficient in (0, 0.0):
        return
    if improves(reward, None) is not False:
        return
    yield Finding(
        step=int(kl.step[0]),
        claim="The policy does not leave its reference",
        evidence=f"KL was at most {highest:.2g} nats in {len(kl)} steps, and the reward does not rise.",
        severity="info",
        metrics=(kl.name, reward.name, "optimiser/lr"),
        check=("Learning rate and its warm-up", "KL coefficient"),
        advice=(Advice("Lower the KL coefficient or raise the learning rate"),),
    )
