"""`rs.init` and the `Run` it gives: what lives inside somebody's training loop.

Every method hands over and returns; none blocks on disk or network, none raises into training once the run exists. What could not be kept is counted,
written into the run as notes, and said once on stderr.
"""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from time import perf_counter_ns
from types import TracebackType
from typing import Any, ParamSpec, Self

from rollscope.errors import BadInput
from rollscope.record.caller import queue as q
from rollscope.record.caller.handover import hand_over
from rollscope.record.caller.span import Span, named
from rollscope.record.caller.value import floats, snapshot
from rollscope.sinks import Sink
from rollscope.store.log.block import Labels
from rollscope.store.schema import STEPS

from . import identity, lifecycle
from .recorder import Machinery, Settings, Wanted

__all__ = ["Run", "init", "join"]
CLOCKS = frozenset(column.name for column in STEPS) - {"run", "step", "time_ns", "end_ns", "writer", "attempt"}


def init(
    project: str | None = None,
    name: str | None = None,
    config: Mapping[str, Any] | Any = None,
    *,
    id: str | None = None,
    resume: bool | int | str | None = None,
    fork: str | tuple[str, int] | None = None,
    dir: str | os.PathLike[str] | None = None,
    tags: Iterable[str] = (),
    group: str | None = None,
    algorithm: str | None = None,
    framework: str | None = None,
    steps: int | None = None,
    sinks: str | Sink | Sequence[Wanted] = (),
    dialect: str | None = None,
    shard: int | None = None,
    shards: int | None = None,
    keep_text: str | int | float = "all",
    keep_tokens: str | int | float = "4GB",
    redact: Callable[[str], str] | None = None,
    host: bool | float = True,
    scrape: str | Sequence[str] = (),
) -> Run:
    """Begin recording; see the README for the ten lines that follow.

    `resume=True` goes on after the last step of the run `id`, `resume=120` after step 120 (later rows are kept, as history). `fork="RUN@120"` begins a run of
    its own there. `steps` is how many are planned. `shard` / `shards` say which data-parallel part this process is (default: RANK and WORLD_SIZE).
    `sinks` are names ("jsonl", "wandb", ...), (name, options) or objects, beside the store. `keep_text`, `keep_tokens`: "all", every n-th, or a size.
    `redact` is called with every text before it is written. `scrape` are Prometheus endpoints of inference engines.
    """
    shard = int(os.environ.get("RANK", 0)) if shard is None else shard
    shards = int(os.environ.get("WORLD_SIZE", 1)) if shards is None else shards
    if not 0 <= shard < shards:
        raise BadInput(f"shard={shard} of shards={shards}: a shard is a number from 0 to {shards - 1}.")
    root = Path(os.fspath(dir) if dir is not None else os.environ.get("ROLLSCOPE_DIR") or "runs").absolute()
    asked = identity.Asked(root, name, project, id or os.environ.get("ROLLSCOPE_RUN_ID"), resume, fork, shard, shards)
    facts = {
        "name": name,
        "project": project,
        "group": group,
        "tags": list(tags),
        "algorithm": algorithm,
        "framework": framework or dialect,
        "steps_planned": steps,
    }
    listed: list[Wanted] = list(sinks) if isinstance(sinks, Sequence) and not isinstance(sinks, str) else [sinks]
    settings = Settings(
        asked,
        facts,
        config,
        listed,
        dialect,
        keep_text,
        keep_tokens,
        redact,
        host,
        [scrape] if isinstance(scrape, str) else list(scrape),
    )
    return Run(settings)


def join(id: str, dir: str | os.PathLike[str], *, shard: int = 0, shards: int = 1) -> Run:
    """Record into a run that another process began: it wrote what the run is, and says how it ends."""
    asked = identity.Asked(Path(os.fspath(dir)).absolute(), id=id, shard=shard, shards=shards)
    return Run(Settings(asked, {}, None, [], None, "all", "4GB", None, False, []), owner=False)


Arguments = ParamSpec("Arguments")


def _never_raises(what: str) -> Callable[[Callable[Arguments, None]], Callable[Arguments, None]]:
    """A method of `Run` that counts what it could not do."""

    def wrap(method: Callable[Arguments, None]) -> Callable[Arguments, None]:
        @wraps(method)
        def quiet(*args: Arguments.args, **more: Arguments.kwargs) -> None:
            try:
                method(*args, **more)
            except Exception as error:
                run = args[0]
                assert isinstance(run, Run)
                run._losses.count(what, repr(error))

        return quiet

    return wrap


class Run:
    """A run that is being recorded."""

    def __init__(self, settings: Settings, owner: bool = True) -> None:
        self._settings = settings
        self._place = identity.place(settings.asked)
        self._open(owner)
        lifecycle.watch(self)

    def _open(self, owner: bool) -> None:
        self._inside = Machinery(self._settings, self._place, secrets.token_hex(8), owner)
        self._queue = self._inside.queue
        self._clock = self._inside.clock
        self._losses = self._inside.losses
        self._plain = self._inside.labels()
        self._ids = itertools.count(1)
        begun = self._place.resumed_from if self._place.resumed_from is not None else self._place.parent_step
        self._step = begun + 1 if begun is not None else 0
        self._finished = False
        self._has_tensors = False

    def _reborn(self) -> None:
        """In a forked child: a recorder of its own, started when something is first recorded here."""
        was_finished, step = self._finished, self._step
        self._inside.abandon()
        self._open(owner=False)
        self._finished, self._step = was_finished, step

    @property
    def id(self) -> str:
        return self._place.id

    @property
    def folder(self) -> Path:
        return self._place.folder

    @property
    def step(self) -> int:
        """The current step: the last one something was logged for."""
        return self._step

    @property
    def losses(self) -> dict[str, int]:
        """What could not be kept so far, in words, and how often."""
        return {f"{what}: {why}": number for (what, why), number in self._losses.total.items()}

    def log(
        self,
        metrics: Mapping[str, Any],
        step: int | None = None,
        *,
        env: str | None = None,
        split: str = "train",
        clock: str | None = None,
    ) -> None:
        """Numbers or partials of a step. `env` and `split` say what they are of, `clock` which clock `step` counts if not the optimiser's."""
        try:
            time_ns = perf_counter_ns() + self._clock.offset
            if step is None:
                step = self._step
            else:
                if type(step) is not int:
                    step = int(step)
                if clock is None:
                    self._step = step
            labels = (
                self._plain
                if env is None and clock is None and split == "train"
                else self._inside.labels(env, split, clock)
            )
            if self._has_tensors or type(metrics) is not dict:  # adding tensors up would be work for their device
                self._log_other(metrics, step, time_ns, labels)
                return
            taken = metrics.copy()  # before its values are looked at: nothing brings cold memory in faster
            try:  # adding up is the fastest way to see that all are numbers of Python, which nobody can change: with anything else the sum is something else
                are_numbers = type(sum(taken.values(), 0.0)) is float
            except Exception:
                are_numbers = False
            queue = self._queue
            if not are_numbers:
                self._log_other(taken, step, time_ns, labels)
            elif queue.cells < q.MANY:
                queue.cells += len(taken)
                queue.put((q.NUMBERS, step, time_ns, taken, labels))
            else:
                self._log_row(taken, [*taken.values()], step, time_ns, labels)
        except Exception as error:
            self._losses.count("calls of log", repr(error))

    def _log_row(self, names: Mapping[str, Any], numbers: list[float], step: int, time_ns: int, labels: Labels) -> None:
        """Numbers packed here: small while they wait, and little to do for the drain."""
        queue = self._queue
        queue.cells += len(numbers)
        if queue.cells > q.MANY and not queue.press(len(numbers)):
            return
        if [*map(type, numbers)].count(float) == len(numbers):
            schema = self._inside.schemas.of(tuple(names))
            queue.put((q.ROW, step, time_ns, schema, schema.pack(step, time_ns, *numbers), labels))
        else:
            queue.put((q.NUMBERS, step, time_ns, dict(zip(names, numbers, strict=True)), labels))

    def _log_other(self, metrics: Mapping[str, Any], step: int, time_ns: int, labels: Labels) -> None:
        """Anything but a dict of plain numbers, or any dict where tensors are about."""
        taken = dict(metrics)
        kinds = [*map(type, taken.values())]
        if kinds.count(float) == len(kinds) and self._queue.cells < q.MANY:
            self._queue.cells += len(kinds)
            self._queue.put((q.NUMBERS, step, time_ns, taken, labels))
            return
        numbers = floats([*taken.values()], kinds)
        if numbers is not None:
            self._has_tensors |= kinds.count(float) < len(kinds)
            self._log_row(taken, numbers, step, time_ns, labels)
            return
        found = snapshot(taken)
        self._has_tensors |= found.tensors
        self._queue.cells += len(found.ready)
        self._queue.put((q.MIXED, step, time_ns, found.ready, labels))
        for arriving in found.coming:
            self._queue.put((q.ARRIVING, step, time_ns, arriving, labels))
        for name, what in found.refused:
            self._losses.count("values", f"{name!r} was not a number but {what}")

    def log_batch(self, batch: Mapping[str, Any], step: int | None = None) -> None:
        """Everything the batch supports (the vocabulary of `rs.compute`), computed off this thread. What is not understood is reported once.

        At most 1 GiB of a batch is copied. Larger logits on a device are read in the call; whatever else does not fit is left out, counted and said.
        """
        try:
            self._inside.batch(batch, self._at(step), self._clock.now())
        except Exception as error:
            self._losses.count("batches", repr(error))

    def log_samples(self, samples: Any = (), step: int | None = None, **same: Any) -> None:
        """Samples: dicts, `rs.Sample`s, or one mapping of columns; the same id later fills in what was missing. `same` holds for all of them."""
        try:
            time_ns, step = self._clock.now(), self._at(step)
            taken, about, transfer = hand_over(samples, same, self._refuse)
            if taken:
                self._queue.put_samples((q.SAMPLES, step, time_ns, taken, transfer, about))
        except Exception as error:
            self._losses.count("calls of log_samples", repr(error))

    def _refuse(self, why: str) -> None:
        self._losses.count("samples", why)

    def log_eval(
        self,
        name: str,
        results: Iterable[Mapping[str, Any]],
        step: int | None = None,
        *,
        prefix: str = "eval",
        detailed: bool = False,
    ) -> None:
        """Evaluation rows: kept as they are, turned into metrics (split `eval`), and their samples kept with the others."""
        try:
            self._inside.evaluation(
                name, [dict(row) for row in results], self._at(step), self._clock.now(), prefix, detailed
            )
        except Exception as error:
            self._losses.count("evaluations", repr(error))

    def span(
        self,
        name: str,
        lane: str | None = None,
        *,
        kind: str = "work",
        step: int | None = None,
        device: bool = False,
        **data: Any,
    ) -> Span:
        """`with run.span("generate", lane="inference/0"): ...`. `device=True` measures CUDA work by events, without waiting for it."""
        return Span(self, name, lane, kind, step, device, data)

    @_never_raises("spans")
    def log_span(
        self,
        name: str,
        start_ns: int,
        end_ns: int,
        lane: str | None = None,
        *,
        kind: str = "work",
        step: int | None = None,
        **data: Any,
    ) -> None:
        """A span that was measured elsewhere, in wall-clock nanoseconds."""
        about = {
            "id": next(self._ids),
            "name": name,
            "lane": lane or self._inside.lane,
            "kind": kind,
            "start_ns": int(start_ns),
            "end_ns": int(end_ns),
        }
        self._rows(
            "spans",
            about | {"step": self._step if step is None else step, "rank": self._settings.asked.shard} | named(data),
        )

    @_never_raises("declarations")
    def declare(self, env: str | None = None, **said: Any) -> None:
        """What is known beforehand: `reward_min`, `reward_max`, `metrics_ranges` of an environment, `ranges` of metrics by name."""
        self._rows("runs", {"declared": self._inside.declare(env, said)})

    def describe(self, **facts: Any) -> None:
        """What became known about the run only later: columns of `runs`, such as `config`, `tags` or `framework`. None says nothing."""
        if known := {key: value for key, value in facts.items() if value is not None}:
            self._rows("runs", known)

    @_never_raises("notes")
    def note(self, text: str, step: int | None = None, *, kind: str = "note", **data: Any) -> None:
        self._rows(
            "notes",
            {
                "step": self._step if step is None else step,
                "time_ns": self._clock.now(),
                "text": str(text),
                "kind": kind,
                "data": data or None,
            },
        )

    def on_finding(self, listener: Callable[[Any], Any]) -> None:
        """Call `listener(finding)` for whatever a doctor, in a process of its own, finds in this run while it goes on."""
        try:
            if not self._finished:
                self._inside.listen(listener)
        except Exception as error:
            self._losses.say(f"on_finding could not start a doctor: {error!r}")

    @_never_raises("commits")
    def commit(self, step: int | None = None, **clocks: Any) -> None:
        """The step is complete: sinks that cannot merge get it now. `tokens=`, `samples=`, `epoch=`, ... are its other clocks."""
        step = self._step if step is None else int(step)
        for unknown in clocks.keys() - CLOCKS:
            self._losses.count("clocks", f"commit does not know {unknown!r}; it knows {', '.join(sorted(CLOCKS))}")
            del clocks[unknown]
        self._inside.commit(step, self._clock.now(), clocks)
        self._step = max(self._step, step + 1)

    def reduce(self, step: int | None = None, *, timeout: float = 60.0) -> dict[str, float]:
        """The step's values over all ranks; closes the step for the sinks of shard 0. A collective: every rank calls it for the same step.

        When a rank does not come in time that is counted, and this rank's own values are returned.
        """
        from rollscope.record.compute.all_ranks import reduce

        merged: dict[str, Any] = {}
        at, first = self._step, self._settings.asked.shard == 0
        try:
            at = at if step is None else int(step)
            merged = self._inside.values(at)
            merged = reduce(merged, timeout, self._inside.counters.common(at))
        except Exception as error:
            self._losses.count("reductions", repr(error))
        self._queue.put_closed((q.COMMIT, at, self._clock.now(), {}, merged if first else {}))
        return {name: float(value) for name, value in merged.items()}

    def flush(self, patience: float = 5.0) -> bool:
        """Write what was handed over so far, now; False when the store could not take it."""
        return self._inside.settle(patience)

    def finish(self, state: str = "finished", reason: str | None = None) -> None:
        """Write everything and close. Safe to call twice; also called on exit, on an exception, and by `with`."""
        if self._finished:
            return
        self._finished = True
        try:
            self._inside.finish(state, reason)
        except Exception as error:
            self._losses.say(f"finishing failed: {error!r}")
        lifecycle.unwatch(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or kind is SystemExit:
            self.finish()
        else:
            self.note(lifecycle.last_words(error), kind="output")
            self.finish("crashed", lifecycle.reason(kind, error))

    def __repr__(self) -> str:
        return f"<Run {self.id} in {self.folder.parent}>"

    def _at(self, step: int | None) -> int:
        if step is not None:
            self._step = int(step)
        return self._step

    def _rows(self, table: str, *rows: dict[str, Any]) -> None:
        self._queue.put((q.ROWS, table, list(rows)))
