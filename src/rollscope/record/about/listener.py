"""`run.on_finding`: a doctor in a helper process reads the run as it grows.

It prints its findings, one JSON object a line; a thread reads them and calls the listener.
"""

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
    """Calls `listener` with each finding until the run ends."""

    def __init__(self, folder: Path, listener: Callable[[Any], Any], losses: Losses) -> None:
        self._listener = listener
        self._losses = losses
        self._closing = False
        arguments = ("doctor", folder.name, "--dir", str(folder.parent), "--follow", "--json")
        self._process = spawn("rollscope", *arguments, stdout=subprocess.PIPE)
        self._thread = threading.Thread(target=self._listen, name="rollscope-doctor", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._tell(line)
        self._process.wait()
        if not self._closing:  # the doctor should stay as long as the run
            code = self._process.returncode
            self._losses.say(f"the doctor ended with code {code}; it reports no more findings. Try: rollscope doctor")

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
        """Stop the doctor. `rollscope doctor` gives a last opinion on the finished run."""
        self._closing = True
        self._process.terminate()
        self._thread.join(2)
