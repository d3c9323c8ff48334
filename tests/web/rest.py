"""What a test reads of a page, it reads when the page is at rest.

A page is at rest when no request is on its way, no frame is asked for and no short timer runs:
what it shows then stays until somebody acts. Requests that a test holds back do not count, and
neither does the stream of events.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable
from fnmatch import fnmatch
from typing import Any

LONGEST = 15  # seconds that a page may stay busy; then it is read as it stands
# Counts what the page has asked for: frames, and timers of at most 450 ms.
COUNT = """(() => {
  const under = new Set();
  const { requestAnimationFrame: frame, cancelAnimationFrame: unframe } = window;
  const { setTimeout: later, clearTimeout: never } = window;
  window.requestAnimationFrame = (draw) => {
    const id = frame((at) => { under.delete("f" + id); draw(at); });
    under.add("f" + id);
    return id;
  };
  window.cancelAnimationFrame = (id) => { under.delete("f" + id); unframe(id); };
  window.setTimeout = (run, wait = 0, ...more) => {
    const id = later((...given) => { under.delete("t" + id); run(...given); }, wait, ...more);
    if (wait <= 450) under.add("t" + id);
    return id;
  };
  window.clearTimeout = (id) => { under.delete("t" + id); never(id); };
  window.drawnTwice = () => new Promise((done) => { frame(() => frame(() => later(done))); later(done, 500); });
  window.underWay = under;
})()"""
RUNS = "!!window.underWay && self.origin !== 'null'"  # a page in a sandbox runs no script and asks for nothing
QUIET = "async () => { await window.drawnTwice?.(); return !window.underWay?.size; }"
READS = {
    "Page": ("inner_text", "get_attribute", "query_selector", "query_selector_all", "eval_on_selector_all", "evaluate"),
    "Locator": ("inner_text", "get_attribute", "count", "bounding_box", "input_value", "evaluate"),
}


class Rest:
    """Follows the requests of a page, and waits until it is at rest."""

    def __init__(self, page: Any) -> None:
        self._page, self._route, self._held = page, page.route, list[Any]()
        self._under_way, self._ended = set[Any](), 0
        page.on("request", self._began)
        page.on("requestfinished", self._over)
        page.on("requestfailed", self._over)
        page.route, page.rest = self._hold, self.wait

    def wait(self) -> None:
        """Until nothing is under way."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            ended = self._ended
            if self._quiet() and not self._under_way and ended == self._ended:
                return

    def _quiet(self) -> bool:
        from playwright.sync_api import Error

        try:
            asked = at_once(self._page.evaluate)
            return not asked(RUNS) or bool(asked(QUIET))
        except Error:  # it is being left for another address, or closed
            return bool(self._page.is_closed())

    def _began(self, request: Any) -> None:
        if request.resource_type != "eventsource" and not any(_matches(held, request.url) for held in self._held):
            self._under_way.add(request)

    def _over(self, request: Any) -> None:
        self._under_way.discard(request)
        self._ended += 1

    def _hold(self, url: Any, handler: Any, **more: Any) -> Any:
        self._held.append(url)
        return self._route(url, handler, **more)


def _matches(held: Any, url: str) -> bool:
    """Whether a test answers this request itself."""
    return bool(held.search(url)) if isinstance(held, re.Pattern) else fnmatch(url, held)


def read_at_rest() -> None:
    """Make Playwright's reads wait for the page's rest."""
    from playwright import sync_api

    for kind, names in READS.items():
        for name in names:
            owner = getattr(sync_api, kind)
            if not hasattr(getattr(owner, name), "at_once"):
                setattr(owner, name, _resting(getattr(owner, name)))


def _resting(read: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(read)
    def at_rest(self: Any, *given: Any, **more: Any) -> Any:
        getattr(self if hasattr(self, "goto") else self.page, "rest", lambda: None)()
        return read(self, *given, **more)

    at_rest.at_once = read  # type: ignore[attr-defined]
    return at_rest


def at_once(read: Any) -> Callable[..., Any]:
    """The same read, without waiting for rest."""
    return functools.partial(read.__func__.at_once, read.__self__)
