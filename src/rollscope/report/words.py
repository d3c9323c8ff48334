"""Words that every form of a report uses."""

from __future__ import annotations

from rollscope.diagnose import Cost, Finding

MARKS = {"bad": "✕", "watch": "!", "info": "i", "good": "✓", "none": "–"}


def when(finding: Finding) -> str:
    """The steps of a finding."""
    if finding.until is None:
        return f"since step {finding.step:,}"
    return f"from step {finding.step:,} to {finding.until:,}"


def life(finding: Finding) -> str:
    """What a doctor that followed the run wrote of it; empty if none did."""
    words = {"opened": "seen", "worse": "worse", "recovered": "over"}
    events = [f"{words[event.life]} at step {event.step:,}" for event in finding.life]
    return ", ".join(events).capitalize() + "." if events else ""


def cost(spent: Cost | None) -> str:
    """What a finding cost, in words; empty if it is not known."""
    if spent is None:
        return ""
    hours = f", {spent.gpu_hours:,.1f} GPU-hours" if spent.gpu_hours is not None else ""
    money = f", {spent.money:,.0f} {spent.currency}" if spent.money is not None else ""
    share = f"{100 * spent.share:.{0 if spent.share >= 0.1 else 1}f} %"
    return f"It cost {share} of the run{hours}{money}: {spent.why}."
