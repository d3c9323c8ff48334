"""What goes on now: spans that have begun, shown until they end. They are recorded when they do."""

from __future__ import annotations

from collections.abc import Mapping

from rollscope.record.run import Run
from rollscope.trainer.timeline import Begins, Begun


def announced(run: Run) -> Begins:
    """Shows each span of a lane while it lasts."""
    return lambda name, lane, kind, step: run.span(name, lane, kind=kind, step=step).announce()


class UnderWay:
    """Shows on each worker's lane the request that it works on; its spans come when it is done."""

    def __init__(self, run: Run) -> None:
        self._begin = announced(run)
        self._shown: dict[int, tuple[int, Begun]] = {}  # worker -> its request

    def show(self, requests: Mapping[int, int], step: int) -> None:
        """Worker -> the number of the request that it works on."""
        for worker, (number, begun) in list(self._shown.items()):
            if requests.get(worker) != number:
                begun.over()
                del self._shown[worker]
        for worker, number in requests.items():
            if worker not in self._shown:
                self._shown[worker] = number, self._begin("generate", f"inference/{worker}", "work", step)
