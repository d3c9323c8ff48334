"""The run of a job on Ray, for its workers: the driver tells Ray where it is, workers ask there.

Workers start before a run begins, so they ask when they have something to record.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rollscope.sources.live.quiet import quiet

SPACE = b"rollscope"


@quiet
def tell(run: str, folder: str | Path) -> None:
    """Tell the workers of this job which run it is, in which folder. Without Ray there are none."""
    import ray

    if ray.is_initialized():
        from ray.experimental.internal_kv import _internal_kv_put

        where = {"id": run, "dir": str(Path(folder).absolute())}
        _internal_kv_put(_job(), json.dumps(where).encode(), overwrite=True, namespace=SPACE)


def told() -> dict[str, str] | None:
    """The id of this job's run, and the folder it lies in; None if there is none."""
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return None
    from ray.experimental.internal_kv import _internal_kv_get

    found = _internal_kv_get(_job(), namespace=SPACE)
    where: dict[str, str] | None = json.loads(found) if found else None
    return where


def _job() -> bytes:
    import ray

    return f"rollscope/{ray.get_runtime_context().get_job_id()}".encode()
