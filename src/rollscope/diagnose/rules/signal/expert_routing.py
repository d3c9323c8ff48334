"""Routing of a mixture of experts that grows uneven."""

from __future__ import annotations

from collections.abc import Iterator

from rollscope.diagnose.curves.opening import opening
from rollscope.diagnose.curves.window import last_stretch, level
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.rule import Series, rule

PATIENCE = 10
VIOLATION = ("moe/violation_max", "moe/violation_max_mean", "moe/violation_mean")


@rule("expert-routing", needs=(VIOLATION,), optional=("policy/kl_sampler_k3",))
def expert_routing(violation: Series, k3: Series | None = None, *, times: float = 2.0) -> Iterator[Finding]:
    """Experts are used ever more unevenly: the router leaves its balance.

    Engine and trainer then choose other experts for the same token, and their probabilities part.
    Alone it is worth a look; together with a mismatch it has ended runs. With router replay,
    compare after the replay.
    """
    first = opening(violation)
    if first is None:
        return
    now = level(violation.value, 5)
    start = last_stretch((now > times * first.level) & (now - first.level > 4 * first.noise))
    if len(now) - start < PATIENCE:
        return
    drift = opening(k3)
    parts = drift is not None and k3 is not None and float(level(k3.value, 5)[-1]) > 2 * drift.level
    yield Finding(
        step=int(violation.step[start]),
        claim="Experts are used ever more unevenly",
        evidence=f"The largest violation is {now[-1]:.3g} now, {first.level:.3g} at the opening"
        + ("; the mismatch of engine and trainer grew with it." if parts else "."),
        severity="watch" if parts else "info",
        metrics=(violation.name, "policy/kl_sampler_k3"),
        check=("Per layer: which router leaves?", "Is the router trained, and is its bias frozen?"),
        advice=(Advice("Replay the router's choices of the engine in the trainer", "arXiv 2510.11370"),),
    )
