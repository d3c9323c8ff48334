"""`run.on_finding`: a doctor in a process of its own reads the run as it grows and says what it finds, one JSON object a line."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rollscope.record.loss import Losses
from rollscope.record.spawn import spawn


class Listener:
    def __init__(self, folder: Path, listener: Callable[[Any], Any], losses: Losses) -> None:
        self._listener = listener
        self._losses = losses
        self._closing = False
        self._process = spawn(
            "rollscope",
            "doctor",
            folder.name,
            "--dir",
            str(folder.parent),
            "--follow",
            "--json",
            stdout=subprocess.PIPE,
        )
        self._thread = threading.Thread(target=self._listen, name="rollscope-doctor", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._tell(line)
        self._process.wait()
        if not self._closing:  # it stays as long as the run does
            self._losses.say(
                f"the doctor ended with code {self._process.returncode}; no findings are reported any more. Try: rollscope doctor"
            )

    def _tell(self, line: str) -> None:
        try:
            finding = json.loads(line)
        except ValueError:  # a warning of some library
            return
        try:
            self._listener(finding)
        except Exception as error:
            self._losses.say(f"the listener of on_finding raised {error!r}")

    def close(self) -> None:
        """The run is over for this process; who wants a last opinion asks `rollscope doctor`."""
        self._closing = True
        self._process.terminate()
        self._thread.join(2)
