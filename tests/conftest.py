"""CI skips nothing:
what a machine lacks is installed there, so a skipped test is a failed one, except where it needs a
GPU.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background, and tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
# A sealer comes when it gets a processor, and moves files that a test looks at.
os.environ.setdefault("ROLLSCOPE_SEAL", "0")
os.environ.setdefault("WANDB__SERVICE_WAIT", "300")  # seconds that wandb gives its own process to start
# How long an example takes says something about the machine, and CI draws the same ones each time.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("any machine")


ALLOWED = (
    "needs a CUDA",
    "needs CUDA",
    "run by: make test-f",
    "run by: make team",
)  # the last two are other lines of .ci/run


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        _refuse(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A file that lacks a library leaves with all its tests before one of them is run."""
    report = yield
    _refuse(report)
    return report


def _refuse(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
    if report.skipped and os.environ.get("CI") and not any(word in reason for word in ALLOWED):
        report.outcome = "failed"
        report.longrepr = f"CI skips nothing, but {report.nodeid} was skipped: {reason}"
