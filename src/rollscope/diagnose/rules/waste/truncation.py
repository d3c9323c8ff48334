"""Answers cut at the length limit."""

from __future__ import annotations

from collections.abc import Iterator

from rollscope.diagnose.curves.opening import opening
from rollscope.diagnose.curves.trend import trend
from rollscope.diagnose.curves.window import average, last_stretch
from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import AboutRun
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.reading.known import LENGTH, TRUNCATED
from rollscope.diagnose.rule import FloatArray, Series, rule

PATIENCE = 10
MORE = 0.01  # of all answers: cut beyond what was cut at the opening
SURE = 1e-4  # chance that a share which does not grow seems to
MASKED = ("mask_truncated_completions", "overlong_filtering", "overlong_filter", "filter_overlong", "mask_overlong")


@rule("truncation", needs=(TRUNCATED,), optional=(LENGTH, AboutRun()))
def truncation(
    truncated: Series,
    length: Series | None = None,
    about: About | None = None,
    *,
    watch: float = 0.05,
    bad: float = 0.25,
) -> Iterator[Finding]:
    """Answers are cut at the length limit: too many to ignore, for many steps.

    A cut answer usually earns nothing, however good it was going to be, so the policy learns from
    an accident. Look at how length grows, whether the limit is simply too small, and whether the
    model still writes its end token. Where the configuration leaves cut answers out of the loss,
    they teach nothing wrong: then only a large share is worth a look.
    """
    share = average(truncated.value, PATIENCE)
    start, growing = last_stretch(share > watch), _growing(truncated, share, length)
    if len(share) - start < PATIENCE and growing == len(share) and not _certain(truncated, about):
        return
    start = min(start, growing)
    now, masked = float(share[-1]), about is not None and about.setting(*MASKED) is True
    if masked and now < bad:
        return
    opened = float(truncated.value[:PATIENCE].mean())
    yield Finding(
        step=int(truncated.step[start]),
        claim="Answers grow until they are cut" if _grew(length) else "Answers are cut at the length limit",
        evidence=f"{100 * now:.0f} % of samples over the last {PATIENCE} steps, "
        f"{100 * opened:.0f} % in the first {PATIENCE}.",
        severity="bad" if now >= bad and not masked else "watch",
        metrics=(truncated.name, length.name if length is not None else "length/completion/generated/mean"),
        check=("Length of the worst group", "Is the limit too small for the task?", "Does the reward pay for length?"),
        advice=(
            Advice("Leave cut answers out of the loss before you raise the limit", "DAPO, overlong filtering"),
            Advice("Act when more than 5 % do not end on their own", "AReaL's guide"),
        ),
        samples="stop_reason = 'length'",
    )


def _growing(truncated: Series, share: FloatArray, length: Series | None) -> int:
    """Since when more are cut than at the opening, if ever more are, and answers grow with them."""
    first = opening(truncated)
    if first is None or length is None or not _grew(length) or not trend(length.value).rises:
        return len(share)
    seen = trend(truncated.value[first.points :])
    if not seen.rises or seen.p > SURE:
        return len(share)
    return last_stretch(share > first.level + max(MORE, 4 * first.noise / PATIENCE**0.5))


def _certain(truncated: Series, about: About | None) -> bool:
    """Were most answers cut in the last step of a run that crashed? It has no further steps."""
    return about is not None and about.state == "crashed" and float(truncated.value[-1]) > 0.5


def _grew(length: Series | None) -> bool:
    """Are the last answers a fifth longer than the first?"""
    if length is None or len(length) < 2 * PATIENCE:
        return False
    return bool(length.value[-PATIENCE:].mean() > 1.2 * length.value[:PATIENCE].mean())
