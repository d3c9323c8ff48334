"""Rollout workers and the pools that hold them.

`RolloutWorker` plays requests with its copy of the policy; it does not know about processes. A pool
sends messages to workers and receives their reports. `Inline` plays at once in the trainer's
process (deterministic). `Processes` has one process per worker, with the weights in shared memory.
`ray_actors.RayActors` has one actor of Ray per worker, on any node.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn, Protocol

import torch
import torch.multiprocessing as multiprocessing
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from rollscope import isolated
from rollscope.errors import RollscopeError
from rollscope.trainer.config import EnvironmentConfig, ModelConfig
from rollscope.trainer.environments.mix import load_all
from rollscope.trainer.failures import Faults
from rollscope.trainer.policy.model import Transformer
from rollscope.trainer.timeline import Span, Timeline

from .player import Player, Request, Sample


class WorkerDied(RollscopeError):
    """A rollout worker ended unexpectedly."""

    status = 500


@dataclass(slots=True)
class WorkerSpec:
    """Everything that a worker needs to start, in any process."""

    model: ModelConfig
    environments: Sequence[EnvironmentConfig]
    faults: Faults
    device: str = "cpu"


@dataclass(slots=True)
class Report:
    """A worker's message: samples when generated, again when scored, and its spans."""

    worker: int
    request: int
    stage: str  # generated, scored, died
    samples: list[Sample] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    message: str = ""  # why it died


def _noise(like: torch.Tensor, seed: int) -> torch.Tensor:
    """Normal noise: the same on every device."""
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(seed)).to(like.device)


class RolloutWorker:
    def __init__(self, index: int, spec: WorkerSpec) -> None:
        self.index, self.spec = index, spec
        self.spans: list[Span] = []
        self.model = Transformer(spec.model).to(spec.device)
        timeline = Timeline(f"inference/{index}", self.spans.append)
        self.player = Player(self.model, load_all(spec.environments), timeline, spec.faults)

    def load(self, weights: torch.Tensor, version: int) -> None:
        """Load new weights, with noise if a fault asks for it."""
        faults = self.spec.faults
        with self.player.timeline.span("sync_weights", step=version, version=version):
            faults.delay_sync(version)
            if faults.sampler_noise and faults.active(version):
                weights = weights + faults.sampler_noise * weights.abs().mean() * _noise(weights, faults.seed + version)
            vector_to_parameters(weights.to(self.spec.device, copy=True), self.model.parameters())
        self.player.version = version

    def play(self, number: int, request: Request, send: Callable[[Report], None]) -> None:
        """Play a request; send a report when it is generated and another when it is scored."""
        faults = self.spec.faults
        if self.index == 0 and faults.active(request.step):
            if faults.worker_dies:
                raise SystemExit(f"worker 0 was told to die at step {request.step} (failure on demand)")
            time.sleep(faults.worker_delay)
        samples = self.player.play(request)
        send(Report(self.index, number, "generated", samples, self.take_spans()))
        self.player.score(samples, request.step)
        send(Report(self.index, number, "scored", samples, self.take_spans()))

    def take_spans(self) -> list[Span]:
        spans = self.spans[:]
        self.spans.clear()
        return spans


class Pool(Protocol):
    """Where workers run. `size` is their number."""

    size: int

    def publish(self, weights: torch.Tensor, version: int) -> None: ...

    def submit(self, worker: int, number: int, request: Request) -> None: ...

    def cancel(self, worker: int, number: int) -> None: ...

    def reports(self, timeout: float) -> list[Report]: ...

    def close(self) -> None: ...


class Inline:
    """One worker in this process. A request is played when `reports` is called."""

    size = 1

    def __init__(self, spec: WorkerSpec) -> None:
        self.worker = RolloutWorker(0, spec)
        self._requests: deque[tuple[int, Request]] = deque()

    def publish(self, weights: torch.Tensor, version: int) -> None:
        self.worker.load(weights, version)

    def submit(self, worker: int, number: int, request: Request) -> None:
        self._requests.append((number, request))

    def cancel(self, worker: int, number: int) -> None:
        """Nothing is in flight here."""

    def reports(self, timeout: float) -> list[Report]:
        reports: list[Report] = []
        while self._requests:
            number, request = self._requests.popleft()
            try:
                self.worker.play(number, request, reports.append)
            except SystemExit as error:
                raise WorkerDied(f"rollout worker 0 ended: {error}") from None
        return reports

    def close(self) -> None:
        """Nothing to stop."""


class Processes:
    """One process per worker, started with `spawn`: forking a process with threads is unsafe."""

    def __init__(self, spec: WorkerSpec, size: int, weights: torch.Tensor) -> None:
        self.size = size
        self.shared = weights.detach().cpu().clone()
        self.shared.share_memory_()  # type: ignore[no-untyped-call]
        self.pipes: list[Connection] = []
        self.processes: list[Any] = []
        with isolated.without_working_folder():
            self._start(spec)

    def _start(self, spec: WorkerSpec) -> None:
        context = multiprocessing.get_context("spawn")
        self.lock = context.Lock()
        for index in range(self.size):
            ours, theirs = context.Pipe()
            args = (index, spec, theirs, self.shared, self.lock)
            process = context.Process(target=_serve, args=args, daemon=True, name=f"rollout-{index}")
            process.start()
            theirs.close()  # so that the pipe closes when the process ends
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
            self._raise_died(self.pipes.index(pipe))

    def reports(self, timeout: float) -> list[Report]:
        reports = []
        for ready in wait(self.pipes, timeout):
            assert isinstance(ready, Connection)
            try:
                report: Report = ready.recv()
            except (EOFError, ConnectionResetError):
                self._raise_died(self.pipes.index(ready))
            if report.stage == "died":
                self._raise_died(report.worker, report.message)
            reports.append(report)
        return reports

    def _raise_died(self, worker: int, message: str = "") -> NoReturn:
        process = self.processes[worker]
        process.join(30)  # its end of the pipe is closed, so it is about to end
        code = process.exitcode
        how = f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was killed by signal {-code}" + (" (out of memory?)" if code == -9 else "")
        raise WorkerDied(f"rollout worker {worker} (process {process.pid}) {how}" + (f": {message}" if message else ""))

    def close(self) -> None:
        for pipe in self.pipes:
            try:
                pipe.send(("stop",))
            except OSError:
                continue  # it has ended already
        for process in self.processes:
            process.join(2)
            if process.is_alive():
                process.terminate()
                process.join(2)
        for pipe in self.pipes:
            pipe.close()


class _Inbox:
    """A worker's end of the pipe: reads messages and keeps the requests that wait."""

    def __init__(self, worker: RolloutWorker, pipe: Connection, shared: torch.Tensor, lock: Any) -> None:
        self.worker, self.pipe, self.shared, self.lock = worker, pipe, shared, lock
        self.waiting: deque[tuple[int, Request]] = deque()
        self.cancelled: set[int] = set()
        self.newest: int | None = None  # version of weights that are published and not loaded yet
        self.current = -1  # number of the request that is played
        self.open = True

    def read(self, block: bool) -> None:
        while block or self.pipe.poll():
            block = False
            try:
                kind, *rest = self.pipe.recv()
            except EOFError:  # the trainer has ended
                kind, rest = "stop", []
            if kind == "play":
                self.waiting.append((rest[0], rest[1]))
            elif kind == "weights":
                self.newest = rest[0]
            elif kind == "cancel":
                self.cancelled.add(rest[0])
            elif kind == "stop":
                self.open = False
                return

    def refresh(self) -> None:
        """Load the newest weights, if there are newer ones."""
        self.read(block=False)
        if self.newest is not None:
            version, self.newest = self.newest, None
            with self.lock:  # for the copy alone: loading takes long, and other workers load meanwhile
                weights = self.shared.clone()
            self.worker.load(weights, version)

    def stopped(self) -> bool:
        self.read(block=False)
        return not self.open or self.current in self.cancelled


def _serve(index: int, spec: WorkerSpec, pipe: Connection, shared: torch.Tensor, lock: Any) -> None:
    """The main function of a worker process."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer handles Ctrl-C and stops its workers
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        worker = RolloutWorker(index, spec)
        inbox = _Inbox(worker, pipe, shared, lock)
        worker.player.refresh, worker.player.cancelled = inbox.refresh, inbox.stopped
        while inbox.open:
            inbox.read(block=not inbox.waiting)
            inbox.refresh()
            if inbox.waiting and inbox.open:
                inbox.current, request = inbox.waiting.popleft()
                worker.play(inbox.current, request, pipe.send)
    except BaseException as error:
        message = str(error) if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
        pipe.send(Report(index, -1, "died", message=message))
        raise SystemExit(1) from None


def flat(model: torch.nn.Module) -> torch.Tensor:
    """A model's weights as one vector, as it is published to workers."""
    return parameters_to_vector(model.parameters()).detach()
