"""Run blocks on Ray. Every node must see the run's folder under the same path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rollscope.errors import BadInput

from .job import Block, Job, Outcome


def on_ray(job: Job, blocks: Sequence[Block], address: str) -> Iterator[Outcome]:
    """Each block with its rows, or with what went wrong, as they come."""
    ray = _connected(address)
    task = ray.remote(max_retries=2)(job.work)
    at_once = max(2, 2 * int(ray.cluster_resources().get("CPU", 1)))
    common, waiting, running = [ray.put(part) for part in job.common], list(blocks), dict[Any, Block]()
    while waiting or running:
        while waiting and len(running) < at_once:
            block = waiting.pop(0)
            running[task.remote(*common, block)] = block
        (ready, *_), _ = ray.wait(list(running), num_returns=1)
        yield running.pop(ready), _outcome(ray, ready)


def _outcome(ray: Any, ready: Any) -> Any:
    try:
        return ray.get(ready)
    except ray.exceptions.RayTaskError as error:
        return error.cause if isinstance(getattr(error, "cause", None), Exception) else error
    except ray.exceptions.RayError as error:
        return error


def _connected(address: str) -> Any:
    try:
        import ray
    except ImportError as error:
        raise BadInput("--ray needs Ray, which is not installed: pip install ray") from error
    if not ray.is_initialized():
        try:
            ray.init(address=None if address == "here" else address, log_to_driver=False)
        except (ConnectionError, ValueError) as error:
            raise BadInput(f"no Ray at {address!r}: {error}. Give its address, or 'here' to start one") from error
    return ray
