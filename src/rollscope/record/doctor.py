"""`run.on_finding`: a doctor in a process of its own reads the run as it grows and says what it finds, one JSON object a line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rollscope.record.loss import Losses


class Listener:
    def __init__(self, folder: Path, listener: Callable[[Any], Any], losses: Losses) -> None:
        self._listener = listener
        self._losses = losses
        command = ["nice", "-n", "19", sys.executable, "-m", "rollscope", "doctor", folder.name, "--dir", str(folder.parent), "--follow", "--json"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        self._thread = threading.Thread(target=self._listen, name="rollscope-doctor", daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                finding = json.loads(line)
            except ValueError:
                continue
            try:
                self._listener(finding)
            except Exception as error:
                self._losses.say(f"the listener of on_finding raised {error!r}")
        if self._process.wait() not in (0, 1, -15):  # 1: something was found
            self._losses.say(f"the doctor ended with code {self._process.returncode}; no findings are reported any more")

    def close(self) -> None:
        """Two seconds for a last look, then it is sent away."""
        try:
            self._process.wait(0.05)
        except subprocess.TimeoutExpired:
            self._process.terminate()
        self._thread.join(2)
