"""Two machines record into one run on a real NFS mount, and the server has a bad day.

`python bench/nfs.py [--dry]`, in the environment of the tests. Three machines under QEMU
(`nfs_machines.py`): an NFS server (Debian's kernel, NFS 4.2, a disk of its own) and two clients,
each with a kernel of its own. Both clients record five rows a second into one run.

1. A bad day: `rollscope compact` on one client while the other writes; nfsd stopped for 15 s;
   the server's power lost, and the server started again; every log replaced by a copy, so that open
   handles are dead (ESTALE). Each row must be there once.
2. A client whose power is lost: what of its rows is gone, and how old is the oldest?

Needs: `apt-get install qemu-system-x86 busybox-static`. Takes about six minutes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import nfs_machines
import results

ROOT = Path(__file__).parent.parent
PATIENCE = 240  # seconds; a machine takes 20 s to start where nobody else works


class Trial:
    """One server, two clients, and the folder in which they tell each other how far they are."""

    def __init__(self, kept: Path, folder: Path) -> None:
        self.share = folder / "share"
        self.share.mkdir(parents=True)
        self.machines = nfs_machines.Machines(kept, self.share)
        for name in ("server.sh", "record.py", "check.py"):
            shutil.copy(nfs_machines.GUEST / name, self.share / name)
        for rank in (0, 1):
            shutil.copy(nfs_machines.GUEST / "client.sh", self.share / f"client{rank}.sh")
        settings = {"PARTS": self.machines.parts, "SOURCE": ROOT / "src", "PYTHON": sys.executable}
        (self.share / "settings").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self.disk = folder / "disk.img"
        subprocess.run(["truncate", "-s", "512M", self.disk], check=True)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", self.disk], check=True)
        self.clients = [self.machines.begin(f"client{n}", *self.machines.cable(n, "client")) for n in (0, 1)]
        until((folder / "cable0").exists, "the first client has a cable")
        until((folder / "cable1").exists, "the second client has a cable")
        self.server = self.start_server()
        self.heard("begun0")
        self.heard("begun1")

    def start_server(self) -> subprocess.Popen[bytes]:
        cables = [*self.machines.cable(0, "server"), *self.machines.cable(1, "server")]
        return self.machines.begin("server", *cables, "-drive", f"file={self.disk},format=raw,if=virtio,cache=none")

    def ask(self, what: str) -> None:
        (self.share / what).touch()

    def heard(self, what: str) -> None:
        until((self.share / what).exists, what)

    def said(self, rank: int) -> dict[int, float]:
        """The rows that a client has recorded, and when."""
        lines = (line.split() for line in (self.share / f"said{rank}").read_text().splitlines())
        return {int(step): float(moment) for step, moment in lines}

    def found(self) -> dict[str, Any]:
        """What a client reads over NFS, at the end."""
        self.heard("found.json")
        until(lambda: self.clients[0].poll() is not None, "the first client ends")
        return dict(json.loads((self.share / "found.json").read_text()))

    def recorded(self, rank: int) -> dict[str, Any]:
        return dict(json.loads((self.share / f"recorded{rank}.json").read_text()))


def until(true: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit(f"It never came to this: {what}. The machines' own words are in *.txt, with --keep.")
        time.sleep(0.2)


def bad_day(trial: Trial) -> list[dict[str, str]]:
    """Everything that a server can do to two clients, one thing after the other."""
    time.sleep(10)
    trial.ask("compact")
    trial.heard("compacted")
    trial.ask("nfsd.stop")
    trial.heard("nfsd.stopped")
    time.sleep(15)
    trial.ask("nfsd.start")
    trial.heard("nfsd.started")
    time.sleep(20)
    trial.server.kill()
    trial.server.wait()
    (trial.share / "server.up").unlink()
    trial.server = trial.start_server()
    trial.heard("server.up")
    time.sleep(30)
    trial.ask("replace")
    trial.heard("replaced")
    time.sleep(15)
    trial.ask("stop")
    return judged(trial)


def judged(trial: Trial) -> list[dict[str, str]]:
    """Rows that are lost or doubled, and how long a call of the training took."""
    found = trial.found()
    clients = [trial.recorded(rank) for rank in (0, 1)]
    wanted = [f"{rank}-{step}" for rank in (0, 1) for step in range(clients[rank]["rows"])]
    counts = Counter(found["samples"])
    points = sum(len(set(range(clients[rank]["rows"])) - set(found["points"][str(rank)])) for rank in (0, 1))
    calls = [1e3 * seconds for client in clients for seconds in client["calls"]]
    print(json.dumps({"runs": found["runs"], "state": found["state"], "wrong": found["wrong"]}))
    print([{name: value for name, value in client.items() if name != "calls"} for client in clients])
    name = "rollscope: two NFS clients, a bad day of the server"
    return [
        results.row(f"{name}: rows recorded", "rows", [len(wanted)]),
        results.row(f"{name}: samples lost", "rows", [sum(one not in counts for one in wanted)], len(wanted)),
        results.row(f"{name}: samples twice", "rows", [sum(n > 1 for n in counts.values())], len(wanted)),
        results.row(f"{name}: numbers lost", "rows", [points], len(wanted)),
        results.row(f"{name}: a call of the training", "ms", calls),
        results.row(f"{name}: the longest call", "ms", [max(calls)], len(calls)),
    ]


def client_lost(trial: Trial) -> list[dict[str, str]]:
    """The power of a client goes. The other one seals what it may, and reads the run."""
    time.sleep(30)
    trial.clients[1].kill()
    trial.clients[1].wait()
    lost_at = max(trial.said(1).values())
    trial.ask("stop")
    trial.ask("done1")
    samples = set(trial.found()["samples"])
    gone = {step: moment for step, moment in trial.said(1).items() if f"1-{step}" not in samples}
    mine = [step for step in trial.said(0) if f"0-{step}" not in samples]
    name = "rollscope: an NFS client lost its power"
    oldest = lost_at - min(gone.values()) if gone else 0.0
    return [
        results.row(f"{name}: its rows", "rows", [len(trial.said(1))]),
        results.row(f"{name}: of these lost", "rows", [len(gone)], len(trial.said(1))),
        results.row(f"{name}: age of the oldest row lost", "s", [oldest]),
        results.row(f"{name}: rows of the other client lost", "rows", [len(mine)], len(trial.said(0))),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="leave results.csv as it is")
    parser.add_argument("--keep", type=Path, help="a folder for what the machines print and share")
    args = parser.parse_args()
    if missing := nfs_machines.needs():
        raise SystemExit(f"{', '.join(missing)} is missing. apt-get install qemu-system-x86 busybox-static e2fsprogs")
    table = []
    with tempfile.TemporaryDirectory() as name:
        for case in (bad_day, client_lost):
            trial = Trial(ROOT / "build" / "nfs", (args.keep or Path(name)) / case.__name__)
            try:
                table += case(trial)
            finally:
                trial.machines.end()
    results.show(table)
    if not args.dry:
        results.append(table)


if __name__ == "__main__":
    main()
