"""Start the process that records Ray's workers, and end it with the run."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import threading
from typing import Any

from rollscope.record.spawn import spawn
from rollscope.sources.live.quiet import print_once, quiet
from rollscope.sources.live.wrap import before

from .told import SPACE, tell

PATIENCE = 10.0  # seconds that the end of a run waits; a process that needs longer ends by itself


@quiet
def attach(run: Any) -> None:
    """Record the calls of this job's actors and tasks as spans of the run, until it finishes.

    Nothing happens where Ray does not run, or another process of the job has done so.
    """
    if run is not None and (watching := _watching(run.id, os.path.abspath(run.folder.parent))):
        before(run, "finish", lambda *_, **__: watching.close())


@quiet
def watch(run: str, folder: str) -> None:
    """The same for a run that another process holds, until this process or its Ray ends."""
    if watching := _watching(run, folder):
        atexit.register(watching.close)


def _watching(run: str, folder: str) -> Watching | None:
    import ray

    if not ray.is_initialized():
        return None
    context = ray.get_runtime_context()
    key = f"ray/{context.get_job_id()}".encode()
    if not _claim(key, run):
        return None
    tell(run, folder)
    words = (context.gcs_address, context.get_job_id(), context.get_worker_id(), run, folder)
    watching = Watching(key, words)
    before(ray, "shutdown", lambda *_, **__: watching.close())
    return watching


def _claim(key: bytes, run: str) -> bool:
    """One process of a job records its workers: the first that asks."""
    from ray.experimental.internal_kv import _internal_kv_put

    return not _internal_kv_put(key, run.encode(), overwrite=False, namespace=SPACE)


class Watching:
    """The process, and the job that it has to itself."""

    def __init__(self, key: bytes, words: tuple[str, ...]) -> None:
        self._key = key
        self._process: subprocess.Popen[str] | None = spawn(
            "rollscope.sources.ray", *words, stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        threading.Thread(target=_listen, args=(self._process,), name="rollscope-ray", daemon=True).start()

    @quiet
    def close(self) -> None:
        """Let it record what is left. It is waited for, but not for long."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):  # it was killed
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
            self._release()

    def _release(self) -> None:
        """Another run of this job may begin."""
        import ray
        from ray.experimental.internal_kv import _internal_kv_del

        if ray.is_initialized():
            _internal_kv_del(self._key, namespace=SPACE)


def _listen(process: subprocess.Popen[str]) -> None:
    """Say what the process says."""
    assert process.stderr is not None
    with process.stderr as lines:
        for line in lines:
            print_once(f"rollscope: a part of what Ray's workers do is not recorded ({line.strip()[:400]})")
    process.wait()
