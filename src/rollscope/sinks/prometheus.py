"""The latest value of every metric, for Prometheus.

It is served on a port (`port=`), else written to a file for the node exporter. `policy/entropy` is
the gauge `rollscope_policy_entropy{run="...", project="...", name="policy/entropy"}`: characters
that Prometheus does not allow become `_`, and the label keeps the name as logged. The file is
`<run folder>/metrics.prom`. It is replaced at once, so a scrape never sees half of it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, start_http_server, write_to_textfile
from prometheus_client.core import GaugeMetricFamily

from . import Row
from .numbers import present


class PrometheusSink:
    """Keeps the latest values and serves or writes them."""

    def __init__(
        self,
        info: Mapping[str, Any],
        dialect: str | None = None,
        path: str | Path | None = None,
        port: int | None = None,
    ) -> None:
        self._dialect = dialect
        self._labels = {"run": str(info.get("id") or info.get("name") or ""), "project": str(info.get("project") or "")}
        self._latest: dict[str, tuple[int, float]] = {}  # name -> its step, its value
        self._lock = threading.Lock()
        self.registry = CollectorRegistry()
        self.registry.register(self)  # it needs only a `collect` method
        self.path = Path(path or Path(info.get("dir") or ".") / "metrics.prom")
        self._server: Any = start_http_server(port, registry=self.registry) if port is not None else None
        self.port: int | None = self._server[0].server_port if self._server else None
        self._open = True

    def write(self, rows: Sequence[Row]) -> None:
        if not self._open:
            raise RuntimeError("the prometheus sink was closed")
        with self._lock:
            for row in rows:
                if row.table == "metrics":
                    self._keep_latest(row.step or 0, present(row.data, self._dialect))
        if self._server is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_to_textfile(str(self.path), self.registry)

    def _keep_latest(self, step: int, values: Mapping[str, float]) -> None:
        """Ignore values of a step that is earlier than the one shown."""
        for name, value in {**values, "step": step}.items():
            if name not in self._latest or step >= self._latest[name][0]:
                self._latest[name] = (step, value)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Called by the Prometheus client for each scrape."""
        with self._lock:
            latest = dict(self._latest)
        families: dict[str, GaugeMetricFamily] = {}
        for name, (_, value) in latest.items():
            gauge, text = spelled(name), f"{name} as recorded by Rollscope"
            family = families.setdefault(gauge, GaugeMetricFamily(gauge, text, labels=[*self._labels, "name"]))
            family.add_metric([*self._labels.values(), name], value)
        yield from families.values()

    def close(self) -> None:
        self._open = False
        server, self._server = self._server, None
        if server is not None:
            server[0].shutdown()
            server[0].server_close()
            server[1].join()


def spelled(name: str) -> str:
    """The name of a metric's gauge."""
    return "rollscope_" + re.sub(r"[^a-zA-Z0-9_]", "_", name)
