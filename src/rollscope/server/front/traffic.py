"""What a server has answered and what it is behind with, as Prometheus reads it.

Nothing in it names a run, a project or a person.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from starlette.types import Message, Scope, Send

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # until the head of an answer
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True)
class Traffic:
    """Counts requests. One thread, that of the event loop, counts."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)  # method and status
    below: Counter[float] = field(default_factory=Counter)  # answers that took at most so many seconds
    seconds: float = 0.0

    def counted(self, send: Send, scope: Scope) -> Send:
        """`send` that counts the answer when its head is sent."""
        began, method = time.monotonic(), scope["method"] if scope["method"] in METHODS else "other"

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count(method, message["status"], time.monotonic() - began)
            await send(message)

        return sending

    def _count(self, method: str, status: int, seconds: float) -> None:
        self.answers[method, status] += 1
        self.seconds += seconds
        self.below.update(bound for bound in SECONDS if seconds <= bound)

    def lines(self) -> Iterable[str]:
        yield from head("rollscope_requests_total", "counter", "Requests that were answered.")
        for (method, status), count in sorted(self.answers.items()):
            yield f'rollscope_requests_total{{method="{method}",status="{status}"}} {count}'
        yield from head("rollscope_request_seconds", "histogram", "Seconds until an answer began.")
        for bound in SECONDS:
            yield f'rollscope_request_seconds_bucket{{le="{bound:g}"}} {self.below[bound]}'
        total = sum(self.answers.values())
        yield f'rollscope_request_seconds_bucket{{le="+Inf"}} {total}'
        yield f"rollscope_request_seconds_sum {self.seconds:.6f}"
        yield f"rollscope_request_seconds_count {total}"
        yield from head("rollscope_errors_total", "counter", "Answers that were a failure of the server.")
        errors = sum(count for (_, status), count in self.answers.items() if status >= 500)
        yield f"rollscope_errors_total {errors}"


def head(name: str, kind: str, says: str) -> tuple[str, str]:
    return f"# HELP {name} {says}", f"# TYPE {name} {kind}"


def text(traffic: Traffic, gauges: Mapping[str, tuple[float, str]], counters: Mapping[str, tuple[int, str]]) -> str:
    """The page that Prometheus reads. `gauges` and `counters` are values with what they say."""
    lines = list(traffic.lines())
    for name, (value, says) in gauges.items():
        lines += [*head(name, "gauge", says), f"{name} {value:g}"]
    for name, (count, says) in counters.items():
        lines += [*head(name, "counter", says), f"{name} {count}"]
    return "\n".join(lines) + "\n"
