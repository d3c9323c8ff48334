"""Read the calls of a job from Ray's control service.

This is what `ray.timeline()` reads. Ray keeps the newest 100,000 calls of a cluster. A question
waits for ever where the cluster is gone, so only a process that may be ended asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .task import KINDS, Task, read

HEAD = "_READ_TASK_EVENTS_FROM_DASHBOARD_HEAD"  # newer Ray may hold the calls there


class Cluster:
    def __init__(self, address: str, job: str) -> None:
        from ray._private import state
        from ray._raylet import GcsClientOptions
        from ray.core.generated import common_pb2, gcs_pb2  # before the first question: an import may fail

        self._job, self._words, self._messages = bytes.fromhex(job), common_pb2, gcs_pb2
        self._is_in_head = getattr(state, HEAD, False)
        self._state = state.GlobalState()
        self._state._initialize_global_state(_options(GcsClientOptions, address))

    def tasks(self) -> list[Task]:
        """Every call of the job that a worker has begun."""
        events = (event for event in self._events() if event.job_id == self._job)
        tasks = (read(event, self._words) for event in events)
        return [task for task in tasks if task.kind in KINDS and task.start_ns]

    def actor_names(self) -> dict[str, str]:
        """The names that a program gave its actors, by their ids."""
        rows = self._state._connect_and_get_accessor().get_actor_table(None, None)
        actors = (self._messages.ActorTableData.FromString(row) for row in rows)
        return {actor.actor_id.hex(): actor.name for actor in actors if actor.name}

    def nodes(self) -> dict[str, str]:
        """The names of the machines, by the ids of their nodes."""
        rows = self._state.node_table()
        return {row["NodeID"]: row["NodeManagerHostname"] or row["NodeManagerAddress"] for row in rows}

    def _events(self) -> Iterator[Any]:
        """The calls, one at a time: 100,000 of them taken apart at once are a gigabyte."""
        if self._is_in_head:
            yield from self._state._get_all_task_events()
            return
        for row in self._state._connect_and_get_accessor().get_task_events():
            yield self._messages.TaskEvents.FromString(row)


def _options(cls: Any, address: str) -> Any:
    """Where the service is; we ask in the name of no process of the cluster."""
    return cls.create(address, None, allow_cluster_id_nil=True, fetch_cluster_id_if_nil=False)
