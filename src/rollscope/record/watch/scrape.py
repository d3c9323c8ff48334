"""An inference engine's Prometheus endpoint (vLLM, SGLang) as series.

Gauges are read as they are, counters become rates, histograms become percentiles of a window: the
time between two readings. Samples that differ in labels are one quantity: counters and histograms
add; gauges add too, except shares, which average. A counter that fell was restarted at zero.
"""

from __future__ import annotations

import math
import re
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from .watchers import Reading

PERCENTILES = (0.5, 0.95, 0.99)
LARGEST = 32 << 20  # bytes of a reply; an engine's has some hundred thousand
HITS = {  # a counter of cache hits, and the counter of its queries
    "vllm:prefix_cache_hits": "vllm:prefix_cache_queries",
    "vllm:gpu_prefix_cache_hits": "vllm:gpu_prefix_cache_queries",
}
_LINE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:\\.|[^"\\])*")*)\})?\s+(\S+)')
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:\\.|[^"\\])*)"')
_SUFFIX = re.compile(r"_(bucket|sum|count|total|created)$")
_SHARE = re.compile(r"(perc|ratio|usage|utili[sz]ation|rate|share|throughput)(_|$)")


@dataclass(slots=True)
class Family:
    """Samples of one metric: (name, labels) -> value."""

    kind: str = "untyped"
    samples: dict[tuple[str, str], float] = field(default_factory=dict)


def parse(text: str) -> dict[str, Family]:
    """Families of the exposition format. The samples of a histogram are under the family's name."""
    families: dict[str, Family] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = (*line.split(maxsplit=3), "untyped")[:4]
            families.setdefault(name, Family()).kind = kind.strip()
        elif line and not line.startswith("#") and (match := _LINE.match(line)):
            name, labels, value = match[1], match[2] or "", match[3]
            owner = next((known for known in (name, _SUFFIX.sub("", name)) if known in families), name)
            try:
                families.setdefault(owner, Family()).samples[name, labels] = float(value)
            except ValueError:
                continue
    return families


def labels(text: str) -> dict[str, str]:
    """Label -> value, with escapes resolved."""
    return {name: re.sub(r"\\(.)", _unescape, value) for name, value in _LABEL.findall(text)}


def _unescape(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


class Scraper:
    """Reads one endpoint, and compares each reply with the one before it."""

    def __init__(self, url: str, timeout: float = 5.0) -> None:
        self.url = url if "://" in url else f"http://{url}"
        if urlsplit(self.url).path in ("", "/"):
            self.url = self.url.rstrip("/") + "/metrics"
        self.device = f"engine/{urlsplit(self.url).netloc}"
        self._timeout = timeout
        # Imported here: on the watcher's thread, and only if there is an engine.
        from rollscope.catalog.families.engine import canonical

        self._name = canonical
        self._before: dict[str, Family] = {}
        self._at = 0.0

    def read(self) -> Iterator[Reading]:
        with urllib.request.urlopen(self.url, timeout=self._timeout) as reply:
            raw = reply.read(LARGEST + 1)  # a wrong endpoint must not fill the memory of a trainer's node
        if len(raw) > LARGEST:
            raise ValueError(f"its reply has more than {LARGEST >> 20} MB, so it is not the metrics of an engine")
        return self.take(raw.decode("utf-8", "replace"), time.monotonic())

    def take(self, text: str, now: float) -> Iterator[Reading]:
        """Readings of one reply, over the window since the last one."""
        families = parse(text)
        before, seconds = self._before, now - self._at
        self._before, self._at = families, now
        gained: dict[str, float] = {}
        for name, family in families.items():
            earlier = before.get(name)
            if family.kind == "histogram":
                yield from self._histogram(name, family, earlier, seconds)
            elif family.kind == "counter" or (family.kind == "untyped" and name.endswith("_total")):
                if earlier is not None and seconds > 0:
                    gained[name.removesuffix("_total")] = growth = sum(_growth(family, earlier).values())
                    yield self.device, self._name(f"{name}/rate"), growth / seconds
            elif family.kind in ("gauge", "untyped"):
                yield from self._gauge(name, family)
        for hits, queries in HITS.items():
            if gained.get(queries):
                yield self.device, "engine/cache_hit_share", gained.get(hits, 0.0) / gained[queries]

    def _gauge(self, name: str, family: Family) -> Iterator[Reading]:
        values = [value for value in family.samples.values() if not math.isnan(value)]
        if values:
            yield self.device, self._name(name), sum(values) / (len(values) if _SHARE.search(name) else 1)

    def _histogram(self, name: str, family: Family, earlier: Family | None, seconds: float) -> Iterator[Reading]:
        if earlier is None or seconds <= 0:
            return
        growth = _growth(family, earlier)
        buckets: dict[float, float] = {}
        for (sample, words), value in growth.items():
            if sample.endswith("_bucket"):
                edge = float(labels(words).get("le", "nan"))
                buckets[edge] = buckets.get(edge, 0.0) + value
        total = sum(value for (sample, _), value in growth.items() if sample.endswith("_sum"))
        count = sum(value for (sample, _), value in growth.items() if sample.endswith("_count"))
        yield self.device, f"{name}/rate", count / seconds
        if count > 0:
            yield self.device, self._name(f"{name}/mean"), total / count
            for share in PERCENTILES:
                yield self.device, self._name(f"{name}/p{share * 100:.0f}"), percentile(buckets, share)


def _growth(family: Family, earlier: Family) -> dict[tuple[str, str], float]:
    """How much each sample grew in the window. A sample that is new or that fell grew from zero."""
    growth = {}
    for key, value in family.samples.items():
        if key[0].endswith("_created"):
            continue
        known = earlier.samples.get(key, 0.0)
        growth[key] = value - known if value >= known else value
    return growth


def percentile(buckets: dict[float, float], share: float) -> float:
    """The percentile of cumulative buckets (upper edge -> count up to it).

    Linear inside a bucket, as in Prometheus's `histogram_quantile`.
    """
    edges = sorted(edge for edge in buckets if not math.isnan(edge))
    if not edges or not buckets[edges[-1]]:
        return math.nan
    target = share * buckets[edges[-1]]
    low, below = 0.0, 0.0
    for edge in edges:
        if buckets[edge] >= target:
            if math.isinf(edge):
                return low
            return low + (edge - low) * ((target - below) / (buckets[edge] - below) if buckets[edge] > below else 1.0)
        low, below = edge, buckets[edge]
    return low
