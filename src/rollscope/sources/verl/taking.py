"""Take the batch of every update from veRL's trainer, without delaying it.

The trainer hands its batch to methods of its own. We listen to those of the one trainer that made
the logger; no class and no module of veRL is changed. A thread of ours takes a batch apart and
decodes its text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rollscope.sources.live.behind import Behind
from rollscope.sources.live.quiet import quiet
from rollscope.sources.live.text import Decoder
from rollscope.sources.live.wrap import after, before

from .batch import Batch, fetch, hold, of_proto, of_queue
from .rollouts import columns


class Taking:
    """Listens to one trainer. Decodes and records its batches in a thread."""

    def __init__(self, run: Any, trainer: Any) -> None:
        self._run, self._trainer = run, trainer
        self._last: tuple[int, int] | None = None  # the batch that was taken last: which object, which update
        self._entropy: Any = None
        self._decoder: Decoder | None = None
        self._longest: int | None = None  # the most tokens of a response
        self._behind = Behind("rollscope-verl")

    @quiet
    def watch(self) -> None:
        """Listen to the methods that exist: the V1 trainer keeps its batches in TransferQueue."""
        if hasattr(self._trainer, "replay_buffer"):
            before(self._trainer, "_compute_metrics", self._on_queue)
            return
        if hasattr(self._trainer, "_compute_old_log_prob"):
            after(self._trainer, "_compute_old_log_prob", self._on_old_log_prob)
        for name in ("_update_critic", "_update_actor"):  # while the critic warms up, only the first is called
            if hasattr(self._trainer, name):
                before(self._trainer, name, self._on_update)

    def _on_queue(self, meta: Any, *_: Any, **__: Any) -> None:
        step, mode = int(self._trainer.global_steps), getattr(self._trainer, "trainer_mode", "sync")
        found = fetch(meta)
        if found is not None:
            self._put(lambda: replace(of_queue(found, step), now=step - 1, on_policy=mode == "sync"))

    def _on_old_log_prob(self, result: Any, *_: Any, **__: Any) -> None:
        """veRL drops the entropies once it has averaged them."""
        found = result[0] if isinstance(result, tuple) else result
        self._entropy = found.batch["entropys"] if "entropys" in set(found.batch.keys()) else None

    def _on_update(self, proto: Any, *_: Any, **__: Any) -> None:
        number = int(self._trainer.global_steps)
        if self._last == (id(proto), number):
            return
        self._last = (id(proto), number)
        version = getattr(self._trainer, "current_param_version", None)
        entropy, self._entropy = self._entropy, None
        held, step = hold(proto, entropy), number if version is None else version + 1
        on_policy = version is None and not hasattr(self._trainer, "fit_step")
        self._put(lambda: replace(of_proto(held, step, number), now=step - 1, on_policy=on_policy))

    def _put(self, make: Callable[[], Batch]) -> None:
        if self._decoder is None:
            self._decoder = Decoder.of_own(self._trainer.tokenizer)
            self._longest = _longest(getattr(self._trainer, "config", None))
        self._behind.put(lambda: self._record(make()))

    @quiet
    def _record(self, batch: Batch) -> None:
        batch.longest = self._longest
        assert self._decoder is not None
        self._run.log_samples(columns(batch, self._decoder), step=batch.step)

    def close(self) -> None:
        """Wait for the last batches, for a bounded time."""
        self._behind.close()


def _longest(config: Any) -> int | None:
    try:
        return int(config.data.max_response_length)
    except Exception:  # another trainer's configuration
        return None
