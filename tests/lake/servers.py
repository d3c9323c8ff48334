"""A real PostgreSQL and a real S3 server, in folders of their own, that end with the tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.ports import free_port

WAIT_SECONDS = 60.0
NOBODY = 65534
KEY, SECRET = "test-key-of-the-lake", "test-secret-of-the-lake"


def wait_for(port: int) -> None:
    """Wait until a server accepts connections."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > until:
                raise
        time.sleep(0.05)


class Postgres:
    """One cluster. It asks for a password, and refuses to run as root, so root lends it a user.

    Tests do not wait for the disk; a benchmark does, with `fsync="on"`.
    """

    def __init__(self, folder: Path, fsync: str = "off") -> None:
        self.folder, self.port, self.password = folder, free_port(), "test-password-of-the-lake"
        self.fsync = fsync
        folder.mkdir(mode=0o755)
        word = folder / "password"
        word.write_text(self.password)
        if os.getuid() == 0:
            for path in (folder, word):
                os.chown(path, NOBODY, NOBODY)
        self._run("initdb", "-D", str(folder / "d"), "-U", "lake", "-A", "scram-sha-256", f"--pwfile={word}")
        self.start()

    def _run(self, program: str, *words: str) -> None:
        path = next(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"), None) or shutil.which(program)
        as_other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
        subprocess.run([*as_other, str(path), *words], check=True, stdout=subprocess.DEVNULL, cwd="/", timeout=300)

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c fsync={self.fsync} -c listen_addresses=127.0.0.1"
        self._run(
            "pg_ctl", "-D", str(self.folder / "d"), "-o", options, "-l", str(self.folder / "log"), "-t", "280", "start"
        )

    def stop(self, how: str = "immediate") -> None:
        """Stop at once, as a kill would: what was not committed is gone."""
        self._run("pg_ctl", "-D", str(self.folder / "d"), "-m", how, "-t", "280", "stop")

    @property
    def url(self) -> str:
        return f"postgres://lake@127.0.0.1:{self.port}/postgres"


class S3:
    """rclone serves a folder; a bucket is a folder in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        (folder / "team").mkdir(parents=True)
        self.start()

    def start(self) -> None:
        rclone = str(Path(sys.executable).parent / "rclone")
        words = ["serve", "s3", str(self.folder), "--addr", f"127.0.0.1:{self.port}", "--auth-key", f"{KEY},{SECRET}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([rclone, *words, "--config", "/dev/null"], **quiet)  # type: ignore[call-overload]
        wait_for(self.port)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"
