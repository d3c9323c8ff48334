"""NaN and infinities that the trainer logged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollscope.diagnose.rule import Finding, NonFinite, rule

CRITICAL = (
    "optimiser/grad_norm",
    "policy/loss",
    "critic/loss",
    "loss",
    "actor/grad_norm",
    "grad_norm",
    "policy/kl",
)  # starts of names that feed the weights
NAMED = 3


@rule("non-finite", reads="nonfinite", order="liveness")
def non_finite(metrics: Sequence[NonFinite]) -> Iterator[Finding]:
    """A metric is NaN or infinite: something was divided by nothing, overflowed, or was never computed.

    In a loss or a gradient norm it can poison the weights for good, since an optimiser step with a NaN gradient is not undone by the next. Look at the
    first step at which it appears, at the loss scale and the precision there, and at the batch that was in use. In a statistic it may only mean that there was nothing to count.
    """
    for critical in (True, False):
        hit = [m for m in metrics if (m.nan or m.infinite) and m.name.startswith(CRITICAL) is critical]
        if not hit:
            continue
        hit.sort(key=lambda m: m.first_step)
        names = ", ".join(m.name for m in hit[:NAMED]) + (f" and {len(hit) - NAMED} more" if len(hit) > NAMED else "")
        nan, infinite, count = sum(m.nan for m in hit), sum(m.infinite for m in hit), sum(m.count for m in hit)
        yield Finding(
            step=hit[0].first_step,
            until=max(m.last_step for m in hit),
            claim="The loss or its gradient is not a number" if critical else "Some metrics are not numbers",
            evidence=f"{names}: {nan} NaN and {infinite} infinite of {count} logged values.",
            severity="bad" if critical else "watch",
            metrics=tuple(m.name for m in hit[:NAMED]),
            check=(
                "The first step at which it appears",
                "Precision and loss scale there",
                "The batch in use: empty masks, zero variance, very long samples",
            ),
        )
