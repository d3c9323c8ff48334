"""Logged NaN and infinity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollscope.diagnose.finding import Finding, Severity
from rollscope.diagnose.needs import NonFiniteOf
from rollscope.diagnose.rule import NonFinite, rule

CRITICAL = (  # prefixes of metrics that feed the weights
    *("optimiser/grad_norm", "policy/loss", "critic/loss", "policy/kl"),
    *("loss", "grad_norm", "actor/grad_norm"),
)
NAMED = 3  # metrics that the evidence names


@rule("non-finite", needs=(NonFiniteOf(),))
def non_finite(metrics: Sequence[NonFinite]) -> Iterator[Finding]:
    """A metric is NaN or infinite: a division by zero, an overflow, or a value never computed.

    In a loss or a gradient norm it can ruin the weights for good: the next optimiser step does not
    undo a step with a NaN gradient. Look at the first step at which it appears, at the loss scale
    and the precision there, and at the batch in use. In a statistic it may only mean that there was
    nothing to count.
    """
    hits = sorted((m for m in metrics if m.nan or m.infinite), key=lambda m: m.first_step)
    critical = [m for m in hits if m.name.startswith(CRITICAL)]
    if critical:
        yield _finding(critical, "The loss or its gradient is not a number", "bad")
    others = [m for m in hits if not m.name.startswith(CRITICAL) and not _padded(m)]
    if others:
        yield _finding(others, "Some metrics are not numbers", "watch")


def _padded(metric: NonFinite) -> bool:
    """Is it logged at another cadence, with NaN in between? Numbers come again and again then."""
    return metric.first_step <= 1 and not metric.infinite and metric.count > metric.nan > metric.count / 2


def _finding(hits: list[NonFinite], claim: str, severity: Severity) -> Finding:
    names = ", ".join(m.name for m in hits[:NAMED])
    more = f" and {len(hits) - NAMED} more" if len(hits) > NAMED else ""
    nan, infinite, count = sum(m.nan for m in hits), sum(m.infinite for m in hits), sum(m.count for m in hits)
    return Finding(
        step=hits[0].first_step,
        until=max(m.last_step for m in hits),
        claim=claim,
        evidence=f"{names}{more}: {nan} NaN and {infinite} infinite of {count} logged values.",
        severity=severity,
        metrics=tuple(m.name for m in hits[:NAMED]),
        check=(
            "The first step at which it appears",
            "Precision and loss scale there",
            "The batch in use: empty masks, zero variance, very long samples",
        ),
    )
