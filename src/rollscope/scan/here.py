"""Run blocks in processes of this machine. A process that dies costs its block a try, no other."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from rollscope import isolated

from .job import Block, Job, Outcome, Row


def on_processes(job: Job, blocks: Sequence[Block], workers: int) -> Iterator[Outcome]:
    """Each block with its rows, or with what went wrong, as they come."""
    left = list(blocks)
    while left:
        done = 0
        for block, outcome in _until_broken(job, left, workers):
            yield block, outcome
            left.remove(block)
            done += 1
        if left and not done:  # nothing came of this pool: its first blocks end their process
            block = left.pop(0)
            yield block, RuntimeError("its process ended; did it run out of memory?")


def _until_broken(job: Job, blocks: Sequence[Block], workers: int) -> Iterator[Outcome]:
    """Outcomes until a process dies. At most one block per process is under way."""
    with isolated.without_working_folder(), _pool(workers) as pool:
        waiting, running = list(blocks), dict[Future[list[Row]], Block]()
        while waiting or running:
            while waiting and len(running) < workers:
                block = waiting.pop(0)
                running[pool.submit(job.work, *job.common, block)] = block
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                block, error = running.pop(future), future.exception()
                if isinstance(error, BrokenProcessPool):
                    return
                yield block, error if isinstance(error, Exception) else future.result()


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
