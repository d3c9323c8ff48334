"""Rollout workers and the pools that hold them.

`RolloutWorker` is a policy that plays requests; it knows nothing of processes. A pool carries messages to workers and back: `Inline` plays
at once in the trainer's process (deterministic), `Processes` holds one process per worker, with the weights in shared memory.
A pool of Ray actors would be a third class with the same four methods; nothing else would change.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

import torch
import torch.multiprocessing as multiprocessing
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from rollscope.errors import RollscopeError
from rollscope.trainer import environments
from rollscope.trainer.config import ModelConfig
from rollscope.trainer.failures import Faults
from rollscope.trainer.policy.model import Transformer
from rollscope.trainer.timeline import Span, Timeline

from .player import Player, Request, Sample


class WorkerDied(RollscopeError):
    """A rollout worker ended by itself."""

    status = 500


@dataclass(slots=True)
class WorkerSpec:
    """All a worker needs to come to life, wherever that is."""

    model: ModelConfig
    environment: str
    options: Mapping[str, Any]
    faults: Faults
    device: str = "cpu"


@dataclass(slots=True)
class Report:
    """What a worker says: samples when they are generated, again when they are judged, and what it did meanwhile."""

    worker: int
    request: int
    stage: str  # generated, scored, died
    samples: list[Sample] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    words: str = ""


class RolloutWorker:
    def __init__(self, index: int, spec: WorkerSpec) -> None:
        self.index, self.spec = index, spec
        self.spans: list[Span] = []
        self.model = Transformer(spec.model).to(spec.device)
        self.player = Player(
            self.model,
            environments.load(spec.environment, spec.options),
            Timeline(f"inference/{index}", self.spans.append),
            spec.faults,
        )

    def load(self, weights: torch.Tensor, version: int) -> None:
        faults = self.spec.faults
        with self.player.timeline.span("sync_weights", step=version):
            if faults.sampler_noise and faults.begun(version):
                noise = torch.randn(weights.shape, generator=torch.Generator().manual_seed(faults.seed + version))
                weights = weights + faults.sampler_noise * weights.abs().mean() * noise
            vector_to_parameters(weights.to(self.spec.device, copy=True), self.model.parameters())
        self.player.version = version

    def play(self, number: int, request: Request, tell: Callable[[Report], None]) -> None:
        faults = self.spec.faults
        if self.index == 0 and faults.begun(request.step):
            if faults.worker_dies:
                raise SystemExit(f"worker 0 was told to die at step {request.step} (failure on demand)")
            time.sleep(faults.worker_delay)
        samples = self.player.play(request)
        tell(Report(self.index, number, "generated", samples, self.take_spans()))
        self.player.score(samples, request.step)
        tell(Report(self.index, number, "scored", samples, self.take_spans()))

    def take_spans(self) -> list[Span]:
        spans = self.spans[:]
        self.spans.clear()
        return spans


class Pool(Protocol):
    size: int

    def publish(self, weights: torch.Tensor, version: int) -> None: ...

    def submit(self, worker: int, number: int, request: Request) -> None: ...

    def cancel(self, worker: int, number: int) -> None: ...

    def reports(self, timeout: float) -> list[Report]: ...

    def close(self) -> None: ...


class Inline:
    """One worker in this process; a request is played when its report is asked for."""

    size = 1

    def __init__(self, spec: WorkerSpec) -> None:
        self.worker = RolloutWorker(0, spec)
        self._asked: deque[tuple[int, Request]] = deque()

    def publish(self, weights: torch.Tensor, version: int) -> None:
        self.worker.load(weights, version)

    def submit(self, worker: int, number: int, request: Request) -> None:
        self._asked.append((number, request))

    def cancel(self, worker: int, number: int) -> None:
        """Nothing is ever in flight here."""

    def reports(self, timeout: float) -> list[Report]:
        heard: list[Report] = []
        while self._asked:
            number, request = self._asked.popleft()
            try:
                self.worker.play(number, request, heard.append)
            except SystemExit as error:
                raise WorkerDied(f"rollout worker 0 ended: {error}") from None
        return heard

    def close(self) -> None:
        """Nothing to stop."""


class Processes:
    """One process per worker, started fresh (`spawn`): a copy of a process with threads in it is not to be trusted."""

    def __init__(self, spec: WorkerSpec, size: int, weights: torch.Tensor) -> None:
        self.size = size
        context = multiprocessing.get_context("spawn")
        self.shared = weights.detach().cpu().clone()
        self.shared.share_memory_()  # type: ignore[no-untyped-call]
        self.lock = context.Lock()
        self.pipes: list[Connection] = []
        self.processes = []
        for index in range(size):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=_serve, args=(index, spec, theirs, self.shared, self.lock), daemon=True, name=f"rollout-{index}"
            )
            process.start()
            theirs.close()  # so that the end of the process is the end of the pipe
            self.pipes.append(ours)
            self.processes.append(process)

    def publish(self, weights: torch.Tensor, version: int) -> None:
        with self.lock:
            self.shared.copy_(weights.detach())
        for pipe in self.pipes:
            self._send(pipe, ("weights", version))

    def submit(self, worker: int, number: int, request: Request) -> None:
        self._send(self.pipes[worker], ("play", number, request))

    def cancel(self, worker: int, number: int) -> None:
        self._send(self.pipes[worker], ("cancel", number))

    def _send(self, pipe: Connection, message: tuple[Any, ...]) -> None:
        try:
            pipe.send(message)
        except (BrokenPipeError, ConnectionResetError):
            self._mourn(self.pipes.index(pipe), "")

    def reports(self, timeout: float) -> list[Report]:
        heard = []
        for ready in wait(self.pipes, timeout):
            assert isinstance(ready, Connection)
            try:
                report: Report = ready.recv()
            except (EOFError, ConnectionResetError):
                self._mourn(self.pipes.index(ready), "")
            if report.stage == "died":
                self._mourn(report.worker, report.words)
            heard.append(report)
        return heard

    def _mourn(self, worker: int, words: str) -> None:
        process = self.processes[worker]
        process.join(30)  # its end of the pipe is closed, so it is on its way
        code = process.exitcode
        how = (
            f"was killed by signal {-code}" + (" (out of memory?)" if code == -9 else "")
            if code is not None and code < 0
            else f"ended with exit code {code}"
        )
        raise WorkerDied(f"rollout worker {worker} (process {process.pid}) {how}" + (f": {words}" if words else ""))

    def close(self) -> None:
        for pipe in self.pipes:
            try:
                pipe.send(("stop",))
            except OSError:
                continue  # it is gone already
        for process in self.processes:
            process.join(2)
            if process.is_alive():
                process.terminate()
                process.join(2)
        for pipe in self.pipes:
            pipe.close()


class _Desk:
    """A worker's end of the pipe: reads what has come, remembers what is to be done."""

    def __init__(self, worker: RolloutWorker, pipe: Connection, shared: torch.Tensor, lock: Any) -> None:
        self.worker, self.pipe, self.shared, self.lock = worker, pipe, shared, lock
        self.work: deque[tuple[int, Request]] = deque()
        self.cancelled: set[int] = set()
        self.newest: int | None = None
        self.current = -1
        self.open = True

    def read(self, block: bool) -> None:
        while block or self.pipe.poll():
            block = False
            try:
                kind, *rest = self.pipe.recv()
            except EOFError:  # the trainer is gone
                kind, rest = "stop", []
            if kind == "play":
                self.work.append((rest[0], rest[1]))
            elif kind == "weights":
                self.newest = rest[0]
            elif kind == "cancel":
                self.cancelled.add(rest[0])
            elif kind == "stop":
                self.open = False
                return

    def refresh(self) -> None:
        """Take the newest weights, if there are newer ones."""
        self.read(block=False)
        if self.newest is not None:
            version, self.newest = self.newest, None
            with self.lock:
                self.worker.load(self.shared, version)

    def stopped(self) -> bool:
        self.read(block=False)
        return not self.open or self.current in self.cancelled


def _serve(index: int, spec: WorkerSpec, pipe: Connection, shared: torch.Tensor, lock: Any) -> None:
    """The life of a worker process."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the trainer, which stops us
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        desk = _Desk(RolloutWorker(index, spec), pipe, shared, lock)
        desk.worker.player.refresh, desk.worker.player.cancelled = desk.refresh, desk.stopped
        while desk.open:
            desk.read(block=not desk.work)
            desk.refresh()
            if desk.work and desk.open:
                desk.current, request = desk.work.popleft()
                desk.worker.play(desk.current, request, pipe.send)
    except BaseException as error:
        pipe.send(
            Report(
                index,
                -1,
                "died",
                words=f"{type(error).__name__}: {error}" if not isinstance(error, SystemExit) else str(error),
            )
        )
        raise SystemExit(1) from None


def flat(model: torch.nn.Module) -> torch.Tensor:
    """A model's weights as one vector: what is published to workers."""
    return parameters_to_vector(model.parameters()).detach()
