"""A run that ended before its plan: crashed, killed, or starved of anything to train on."""

from __future__ import annotations

from collections.abc import Iterator

from rollscope.diagnose.finding import Advice, Finding
from rollscope.diagnose.needs import AboutRun
from rollscope.diagnose.reading.about import About
from rollscope.diagnose.rule import rule

CAUSES = (  # words of the reason, in lower case, the claim, and what to look at
    (
        ("out of memory", "outofmemory", "cuda oom", "memoryerror"),
        "The run ended out of memory",
        "The longest sequence of the last step, and the memory of its device",
    ),
    (
        ("workerdied", "worker died", "actordied", "exit code", "connection refused", "lost connection"),
        "A worker died and the run ended with it",
        "The log of that worker, at the time of its last span",
    ),
    (
        ("starved", "nothing to train on", "all discarded", "no training data"),
        "Nothing was left to train on, and the run ended",
        "Why the samples were discarded: their reasons, rewards and errors",
    ),
    (
        ("nccl", "watchdog", "timeout", "timed out"),
        "The run ended while it waited for another process",
        "Which rank did not arrive: the lanes of the last step",
    ),
)


@rule("ended-early", needs=(AboutRun(),))
def ended_early(about: About) -> Iterator[Finding]:
    """The run ended before its plan: it crashed, or it was killed.

    What it recorded until then is whole. The reason that the process gave says where to begin;
    findings of earlier steps often say why it came to that.
    """
    if about.state not in ("crashed", "killed"):
        return
    claim, look = _cause(about.reason)
    planned = f" of {about.planned:,} planned" if about.planned else ""
    yield Finding(
        step=about.last_step,
        claim=claim if about.state == "crashed" else "The run was killed",
        evidence=f"It ended at step {about.last_step:,}{planned}"
        + (f": {about.reason[:300]}" if about.reason else ", without a reason."),
        severity="bad",
        check=(look, "The findings before this step", "The last lines that the process printed"),
        advice=(Advice("Resume from the last checkpoint once the cause is gone"),),
    )


def _cause(reason: str) -> tuple[str, str]:
    text = reason.lower()
    for words, claim, look in CAUSES:
        if any(word in text for word in words):
            return claim, look
    return "The run crashed", "The reason that the process gave"
