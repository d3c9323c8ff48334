"""The latest value of every metric, for Prometheus: scraped from a port (`port=`), else a text file for the node exporter.

`policy/entropy` is the gauge `rollscope_policy_entropy{run="...", project="...", name="policy/entropy"}`; letters Prometheus does not know
become `_`, and the label keeps the name as logged. The text file is `<run folder>/metrics.prom`, replaced whole, so a scrape never sees half of it.
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
    def __init__(
        self,
        info: Mapping[str, Any],
        dialect: str | None = None,
        path: str | Path | None = None,
        port: int | None = None,
    ) -> None:
        self._dialect = dialect
        self._labels = {"run": str(info.get("id") or info.get("name") or ""), "project": str(info.get("project") or "")}
        self._latest: dict[str, tuple[int, float]] = {}  # name -> step it is of, value
        self._lock = threading.Lock()
        self.registry = CollectorRegistry()
        self.registry.register(self)  # anything with collect() will do
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
                    self._take(row.step or 0, present(row.data, self._dialect))
        if self._server is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_to_textfile(str(self.path), self.registry)

    def _take(self, step: int, values: Mapping[str, float]) -> None:
        """A late row of an earlier step does not turn a gauge back."""
        for name, value in {**values, "step": step}.items():
            if name not in self._latest or step >= self._latest[name][0]:
                self._latest[name] = (step, value)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        with self._lock:
            latest = dict(self._latest)
        families: dict[str, GaugeMetricFamily] = {}
        for name, (_, value) in latest.items():
            family = families.setdefault(
                spelled(name),
                GaugeMetricFamily(spelled(name), f"{name} as recorded by Rollscope", labels=[*self._labels, "name"]),
            )
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
    return "rollscope_" + re.sub(r"[^a-zA-Z0-9_]", "_", name)
