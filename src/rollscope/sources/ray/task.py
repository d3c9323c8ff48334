"""One call of an actor, or one task, as Ray's control service knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

START = "ACTOR_CREATION_TASK"
KINDS = ("NORMAL_TASK", START, "ACTOR_TASK")  # Ray lists a program as a call, too


@dataclass(frozen=True, slots=True)
class Task:
    id: str
    attempt: int  # Ray may run a call again
    kind: str  # one of `KINDS`
    function: str  # `Class.method`, or the name of a function
    actor: str  # its id; empty for a task of no actor
    worker: str  # the id of the process that ran it; empty until one does
    pid: int
    node: str
    handed_ns: int  # when it was handed in; 0 where Ray does not know
    start_ns: int  # 0: it has not begun
    end_ns: int  # 0: it has not ended
    error: str  # empty: none

    @property
    def key(self) -> tuple[str, int]:
        return self.id, self.attempt

    @property
    def name(self) -> str:
        """The method or the function, without the class and the module."""
        return self.function.rpartition(".")[2] or "call"

    @property
    def cls(self) -> str:
        """The class of the actor, without its module; empty for a task."""
        return self.function.rpartition(".")[0].rpartition(".")[2] if self.actor else ""


def read(event: Any, words: Any) -> Task:
    """A call from Ray's `TaskEvents`. `words` are Ray's enumerations, in `common_pb2`."""
    info, state, status = event.task_info, event.state_updates, words.TaskStatus
    times = state.state_ts_ns
    failed = times.get(status.FAILED, 0)
    return Task(
        id=event.task_id.hex(),
        attempt=event.attempt_number,
        kind=words.TaskType.Name(info.type) if event.HasField("task_info") else "",
        function=info.func_or_class_name or info.name,
        actor=info.actor_id.hex(),
        worker=state.worker_id.hex(),
        pid=state.worker_pid,
        node=state.node_id.hex(),
        handed_ns=times.get(status.PENDING_ARGS_AVAIL, 0),
        start_ns=times.get(status.RUNNING, 0),
        end_ns=failed or times.get(status.FINISHED, 0),
        error=_sentence(state.error_info.error_message) or "failed" if failed else "",
    )


def _sentence(text: str) -> str:
    """The last line of an error that says something: a traceback ends with what went wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:400] if lines else ""
