"""The run of a training, for its workers: the driver tells Ray where it is, workers ask there.

Workers start before the driver begins the run, so they ask when they have something to record.
"""

from __future__ import annotations

import json
import os
from typing import Any

from rollscope.sources.live.quiet import quiet

SPACE = "rollscope"


@quiet
def tell(run: Any) -> None:
    """Tell the workers of this job which run it is. Without Ray there are none."""
    import ray

    if ray.is_initialized():
        from ray.experimental.internal_kv import _internal_kv_put

        where = {"id": run.id, "dir": os.path.abspath(run.folder.parent)}
        _internal_kv_put(_job(ray), json.dumps(where).encode(), overwrite=True, namespace=SPACE.encode())


def join(framework: str) -> Any:
    """The run of this job, in a worker; None if there is none."""
    import ray
    from ray.experimental.internal_kv import _internal_kv_get

    from rollscope.record.start import init

    told = _internal_kv_get(_job(ray), namespace=SPACE.encode()) if ray.is_initialized() else None
    return init(**json.loads(told), framework=framework, shard=0, shards=1, host=False) if told else None


def _job(ray: Any) -> bytes:
    return f"{SPACE}/{ray.get_runtime_context().get_job_id()}".encode()
