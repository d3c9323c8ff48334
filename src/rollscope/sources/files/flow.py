"""Arrows of a Chrome trace, from one slice to the next: `s`, `t` and `f` events, or `bind_id`.

An arrow binds to the innermost slice around it; its end binds to the next slice, unless it says
that it means the one around it (`bp`), or there is no next.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

Lane = tuple[Any, Any]
Span = dict[str, Any]
PHASES = ("s", "t", "f")
DEEP = 200  # slices that may be nested, or lie before the one around an arrow
CHUNK = 1 << 20


class Flows:
    """Sees every slice and arrow of a trace; then it knows which slice led to which."""

    def __init__(self) -> None:
        self._slices: dict[Lane, list[Span]] = defaultdict(list)
        self._arrows: dict[Any, list[tuple[int, Lane, str, Span | None]]] = defaultdict(list)

    def saw(self, lane: Lane, event: dict[str, Any], span: Span) -> None:
        self._slices[lane].append(span)
        if "bind_id" in event and (event.get("flow_in") or event.get("flow_out")):
            self._arrows["bind", str(event["bind_id"])].append((span["start_ns"], lane, "", span))

    def add(self, lane: Lane, event: dict[str, Any], at_ns: int) -> None:
        """An arrow's beginning, middle or end."""
        takes = "next" if event.get("ph") == "f" and event.get("bp") != "e" else "around"
        key = tuple(str(event.get(name)) for name in ("cat", "name", "id"))
        self._arrows[key].append((at_ns, lane, takes, None))

    def link(self) -> None:
        """Give each slice that an arrow leads to the numbers of those it comes from."""
        for slices in self._slices.values():
            slices.sort(key=lambda span: span["start_ns"])
        starts = {lane: [span["start_ns"] for span in slices] for lane, slices in self._slices.items()}
        for points in self._arrows.values():
            ends = [
                span or self._bound(lane, starts.get(lane, []), at, takes)
                for at, lane, takes, span in sorted(points, key=lambda point: point[0])
            ]
            _chain([span for span in ends if span is not None])

    def _bound(self, lane: Lane, starts: list[int], at: int, takes: str) -> Span | None:
        slices, here = self._slices[lane], bisect_right(starts, at)
        around = next((s for s in reversed(slices[max(0, here - DEEP) : here]) if s["end_ns"] >= at), None)
        if takes == "next":
            begins_here = around if around is not None and around["start_ns"] == at else None
            return begins_here or (slices[here] if here < len(slices) else around)
        return around


def _chain(spans: list[Span]) -> None:
    for cause, effect in pairwise(spans):
        known = effect.setdefault("causes", [])
        if cause is not effect and str(cause["id"]) not in known:
            known.append(str(cause["id"]))


def has_any(path: Path) -> bool:
    """May a trace have arrows? Slices are held in memory only if so."""
    tail = b""
    with path.open("rb") as file:
        for chunk in _chunks(file):
            text = (tail + chunk).replace(b" ", b"")
            if b'"ph":"s"' in text or b'"bind_id"' in text:
                return True
            tail = chunk[-16:]
    return False


def _chunks(file: Any) -> Iterable[bytes]:
    return iter(lambda: file.read(CHUNK), b"")
