"""An inference engine's Prometheus endpoint (vLLM, SGLang) as series: gauges as they are, counters as rates, histograms as percentiles of the window.

A window is the time between two looks. Series that differ in labels are one quantity: counters and histograms add, gauges add unless they are
shares, which average. A counter that fell was restarted, and counts from zero.
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
LARGEST = 32 << 20  # bytes of an answer; those of engines have some hundred thousand
HITS = {
    "vllm:prefix_cache_hits": "vllm:prefix_cache_queries",
    "vllm:gpu_prefix_cache_hits": "vllm:gpu_prefix_cache_queries",
}
_LINE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{((?:[^"}]|"(?:\\.|[^"\\])*")*)\})?\s+(\S+)')
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:\\.|[^"\\])*)"')
_SHARE = re.compile(r"(perc|ratio|usage|utili[sz]ation|rate|share|throughput)(_|$)")


@dataclass(slots=True)
class Family:
    """Samples of one metric: (name, labels) -> value."""

    kind: str = "untyped"
    samples: dict[tuple[str, str], float] = field(default_factory=dict)


def parse(text: str) -> dict[str, Family]:
    """Families of the exposition format. Histogram samples stand under the family's name."""
    families: dict[str, Family] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = (*line.split(maxsplit=3), "untyped")[:4]
            families.setdefault(name, Family()).kind = kind.strip()
        elif line and not line.startswith("#") and (found := _LINE.match(line)):
            name, labels, value = found[1], found[2] or "", found[3]
            owner = next(
                (n for n in (name, re.sub(r"_(bucket|sum|count|total|created)$", "", name)) if n in families), name
            )
            try:
                families.setdefault(owner, Family()).samples[name, labels] = float(value)
            except ValueError:
                continue
    return families


def labels(text: str) -> dict[str, str]:
    return {
        name: re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), value) for name, value in _LABEL.findall(text)
    }


class Scraper:
    def __init__(self, url: str, timeout: float = 5.0) -> None:
        self.url = url if "://" in url else f"http://{url}"
        if urlsplit(self.url).path in ("", "/"):
            self.url = self.url.rstrip("/") + "/metrics"
        self.device = f"engine/{urlsplit(self.url).netloc}"
        self._timeout = timeout
        from rollscope.catalog.families.engine import (
            canonical,  # here: on the watcher's thread, and only where there is an engine
        )

        self._ours = canonical
        self._before: dict[str, Family] = {}
        self._at = 0.0

    def read(self) -> Iterator[Reading]:
        with urllib.request.urlopen(self.url, timeout=self._timeout) as answer:
            raw = answer.read(
                LARGEST + 1
            )  # on a trainer's node: whatever answers there does not get to fill its memory
        if len(raw) > LARGEST:
            raise ValueError(f"it answered more than {LARGEST >> 20} MB, which are no metrics of an engine")
        return self.take(raw.decode("utf-8", "replace"), time.monotonic())

    def take(self, text: str, now: float) -> Iterator[Reading]:
        """Readings of one answer, against the one before it."""
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
                    gained[name.removesuffix("_total")] = more = sum(_grown(family, earlier).values())
                    yield self.device, self._ours(f"{name}/rate"), more / seconds
            elif family.kind in ("gauge", "untyped"):
                values = [value for value in family.samples.values() if not math.isnan(value)]
                if values:
                    yield self.device, self._ours(name), sum(values) / (len(values) if _SHARE.search(name) else 1)
        for hits, asked in HITS.items():
            if gained.get(asked):
                yield self.device, "engine/cache_hit_share", gained.get(hits, 0.0) / gained[asked]

    def _histogram(self, name: str, family: Family, earlier: Family | None, seconds: float) -> Iterator[Reading]:
        if earlier is None or seconds <= 0:
            return
        grown = _grown(family, earlier)
        buckets: dict[float, float] = {}
        for (sample, words), value in grown.items():
            if sample.endswith("_bucket"):
                edge = float(labels(words).get("le", "nan"))
                buckets[edge] = buckets.get(edge, 0.0) + value
        total = sum(value for (sample, _), value in grown.items() if sample.endswith("_sum"))
        count = sum(value for (sample, _), value in grown.items() if sample.endswith("_count"))
        yield self.device, f"{name}/rate", count / seconds
        if count > 0:
            yield self.device, self._ours(f"{name}/mean"), total / count
            for share in PERCENTILES:
                yield self.device, self._ours(f"{name}/p{share * 100:.0f}"), percentile(buckets, share)


def _grown(family: Family, earlier: Family) -> dict[tuple[str, str], float]:
    """What each series gained in the window. One that is new, or that fell, gained what it has."""
    out = {}
    for key, value in family.samples.items():
        if key[0].endswith("_created"):
            continue
        known = earlier.samples.get(key, 0.0)
        out[key] = value - known if value >= known else value
    return out


def percentile(buckets: dict[float, float], share: float) -> float:
    """Of cumulative buckets (upper edge -> count up to it), linear inside a bucket, as Prometheus's `histogram_quantile` does it."""
    edges = sorted(edge for edge in buckets if not math.isnan(edge))
    if not edges or not buckets[edges[-1]]:
        return math.nan
    wanted = share * buckets[edges[-1]]
    low, below = 0.0, 0.0
    for edge in edges:
        if buckets[edge] >= wanted:
            if math.isinf(edge):
                return low
            return low + (edge - low) * ((wanted - below) / (buckets[edge] - below) if buckets[edge] > below else 1.0)
        low, below = edge, buckets[edge]
    return low
