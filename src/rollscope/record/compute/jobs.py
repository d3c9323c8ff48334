"""Batches and evaluations: taken on the caller's thread, computed on the worker's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from rollscope.record.caller import batch as copies
from rollscope.record.caller.handover import hand_over
from rollscope.record.caller.queue import NUMBERS, Commit, Queue, Rows, Samples
from rollscope.record.loss import Losses
from rollscope.record.write.evaluation import eval_rows
from rollscope.store.log.block import Labels

from . import batch as batches
from .call import WHO, Call, is_on_device
from .counters import Counters
from .open_steps import Joined, OpenSteps
from .worker import Worker


class Jobs:
    """Puts the metrics of batches and evaluations into the queue once they are computed.

    The calls of a step are joined before they are computed. `queue.computing` knows the steps whose
    batches are not computed yet, so that the drain keeps those steps open.
    """

    def __init__(self, queue: Queue, counters: Counters, labels: Callable[..., Labels], losses: Losses) -> None:
        self.worker = Worker(losses)
        self.worker.chore = self._release_due
        self._open = OpenSteps()
        self.context = batches.RunContext()
        self._queue = queue
        self._counters = counters
        self._labels = labels
        self._losses = losses

    def batch(self, batch: Mapping[str, Any], step: int, time_ns: int) -> None:
        copied = copies.snapshot(batch, self._too_large, self._losses.count)
        ready = copies.Ready(copied)

        self._queue.computing.begin(step)
        if not self.worker.put("batches", lambda: self.take(copied, ready, step, time_ns), copies.size(copied)):
            self._queue.computing.end(step, 1)

    def take(self, copied: dict[str, Any], ready: copies.Ready, step: int, time_ns: int) -> None:
        """Hold a batch until it can be joined with others of its step."""
        try:
            if any(is_on_device(copied.get(name)) for name in (*WHO, "lengths")):
                ready.wait()
            call = ready.compute(lambda: Call.of(copied, ready, time_ns))
        except Exception:
            self._queue.computing.end(step, 1)
            raise
        self.context.meet(copied)
        for due in self._open.add(step, call):
            self._release(due)

    def release(self) -> None:
        """Compute every batch that waits to be joined, after the jobs that wait. Does not wait."""
        if self._queue.computing:
            self.worker.put("calls", self.release_all)

    def release_all(self) -> None:
        for step in self._open.waiting():
            self._release(step)

    def _release_due(self) -> float | None:
        """Compute the batches that have waited long enough. Returns the seconds until the next."""
        for step in self._open.due():
            self._release(step)
        return self._open.seconds_left()

    def _release(self, step: int) -> None:
        """Compute the batches of a step that wait, joined with what is known of their samples."""
        if (opened := self._open.get(step)) is None:
            return
        try:
            for joined in opened.joined():
                try:
                    opened.learn(joined, self._compute(joined, step))
                except Exception as error:
                    self._losses.count("batches", f"computing failed: {error!r}")
        finally:
            self._queue.computing.end(step, self._open.let_go(step))

    def _compute(self, joined: Joined, step: int) -> list[tuple[str | None, str]]:
        """Write the metrics of joined batches that were not written yet. Returns their names."""
        batch = joined.batch
        inputs = {**self._counters.before(step), **self.context.add_to(batch, step)}
        results = joined.run(lambda: batches.compute_all(inputs, self._losses, joined.names, self.context.several))
        if not batches.tells_outcomes(joined.done.keys):
            self.context.learn(batch, step)
        new = [(env, _without(env, metrics, joined.done.written)) for env, metrics in results]
        self._counters.learn(new[0][1], step)
        time_ns = joined.time_ns
        if clocks := self._counters.clocks(step):
            self._queue.put(Rows("steps", [{"step": step, "time_ns": time_ns, "end_ns": time_ns, **clocks}]))
        for env, metrics in new:
            self._put(metrics, step, time_ns, self._labels(env))
        return [(env, name) for env, metrics in new for name in metrics]

    def _put(self, metrics: dict[str, Any], step: int, time_ns: int, labels: Labels) -> None:
        if metrics:
            self._queue.put((NUMBERS, step, time_ns, metrics, labels))

    def _too_large(self, key: str, bytes: int) -> None:
        size, most = f"{bytes / 1e9:.1f} GB", f"{copies.MOST_BYTES / 1e9:.1f} GB"
        why = f"{key!r} has {size}, and at most {most} of a batch are copied. Log what it leads to (entropy, logp)"
        self._losses.count("parts of batches", why)

    def evaluation(
        self, name: str, results: Iterable[Any], step: int, time_ns: int, prefix: str, detailed: bool
    ) -> None:
        rows, samples = eval_rows(results, name, self._losses.count)
        self._hand_over(samples, name, step, time_ns)
        self._queue.put(Rows("evals", [{**row, "set": name, "step": step, "time_ns": time_ns} for row in rows]))

        def job() -> None:
            from rollscope.catalog.evaluate import evaluate

            metrics = evaluate(rows, name, prefix, detailed)
            self._put(metrics, step, time_ns, self._labels(None, "eval"))

        self.worker.put("evaluations", job)

    def _hand_over(self, samples: list[dict[str, Any]], env: str, step: int, time_ns: int) -> None:
        chunks, common, transfer = hand_over(samples, {"split": "eval", "env": env}, self._losses.count)
        if chunks:
            self._queue.put_samples(Samples(step, time_ns, chunks, transfer, common))

    def commit(self, step: int, time_ns: int, clocks: dict[str, Any]) -> None:
        """Close a step once its batches are computed."""
        if step in self._queue.computing:
            self.worker.put("calls", lambda: self._release(step))
        self.worker.after(lambda: self._queue.put_closed(Commit(step, time_ns, clocks)))


def _without(env: str | None, metrics: dict[str, Any], written: Collection[tuple[str | None, str]]) -> dict[str, Any]:
    return {name: value for name, value in metrics.items() if (env, name) not in written} if written else metrics
