"""1 M points from TensorBoard, W&B and Trackio files: our import beside the tool's own reader.

    python bench/sources.py [POINTS]

Our import ends when the points are in the store. Each reading is a process of its own. CPU time and
memory (largest resident sets) include the process in which our import reads files. TensorBoard's
reader takes half a minute for a million points: it reads a tenth.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import results

NAMES = 50
SLOW = ("tensorboard",)
MAKE = {
    "tensorboard": """
from torch.utils.tensorboard import SummaryWriter
w = SummaryWriter(folder, max_queue=10000)
for i in range(steps):
    for k, v in row().items(): w.add_scalar(k, v, i)
w.close()""",
    "wandb": """
import wandb
r = wandb.init(project="p", mode="offline", dir=folder, settings=wandb.Settings(silent=True, console="off"))
for i in range(steps): r.log(row(), step=i)
r.finish()""",
    "trackio": """
import os; os.environ["TRACKIO_DIR"] = folder
import trackio
trackio.init(project="p", name="r", embed=False, auto_log_gpu=False)
for i in range(steps): trackio.log(row(), step=i)
trackio.finish()""",
}
READ = {  # the tool's own reader
    "tensorboard": """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
e = EventAccumulator(folder, size_guidance={"scalars": 0}); e.Reload()
count = sum(len(e.Scalars(tag)) for tag in e.Tags()["scalars"])""",
    "wandb": """
import json
from pathlib import Path
# W&B has no Python reader of its files: parse its messages from our reader of the records.
from rollscope.sources.files import leveldb
from wandb.proto.wandb_internal_pb2 import Record
count = 0
with next(Path(folder).rglob("*.wandb")).open("rb") as file:
    for record in leveldb.records(file, 7):
        for item in Record.FromString(record.data).history.item:
            if not (item.key or item.nested_key[0]).startswith("_"): json.loads(item.value_json); count += 1""",
    "trackio": """
import os; os.environ["TRACKIO_DIR"] = folder
from trackio.sqlite_storage import SQLiteStorage
count = sum(len([k for k in row if k not in ("step", "timestamp")]) for row in SQLiteStorage.get_logs("p", "r"))""",
}
IMPORT = """
import tempfile
from pathlib import Path
from rollscope.sources.intake.importer import Importer
with tempfile.TemporaryDirectory() as out:
    importer = Importer(Path(out)); report = importer.take([Path(folder)]); importer.close()
    count = sum(run["values"] for run in report.runs.values())"""
ROW = f"""import random, sys
d, folder, steps = random.Random(0), sys.argv[1], int(sys.argv[2])
def row(): return {{f"actor/metric_{{i}}": d.gauss(0, 1) for i in range({NAMES})}}
"""
TIMED = """
import os, resource, sys, time
folder = sys.argv[1]
began = time.perf_counter()
%s
wall, cpu = time.perf_counter() - began, sum(os.times()[:4])
memory = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024
print(wall, cpu, count, memory)"""


def python(code: str, *args: str) -> str:
    env = {**os.environ, "WANDB_SILENT": "true", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-W", "ignore", "-c", code, *args]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout


def measure(tool: str, folder: str, theirs: str, repeats: int = 3) -> list[dict[str, str]]:
    rows = []
    own = f"{tool}'s own reader" + (", a tenth of the points" if theirs != folder else "")
    for who, code, where in ((f"rollscope import of {tool}", IMPORT, folder), (own, READ[tool], theirs)):
        runs = [[float(x) for x in python(TIMED % code, where).split()[-4:]] for _ in range(repeats)]
        wall, cpu, counts, memory = zip(*runs, strict=True)
        count = int(counts[0])
        rows.append(results.row(f"{who}: all points", "s", list(wall), count))
        # CPU time changes little on a busy machine.
        rows.append(results.row(f"{who}: CPU, start of Python included", "s", list(cpu), count))
        rows.append(results.row(f"{who}: memory", "MB", list(memory), count))
    return rows


def main(points: int) -> None:
    rows: list[dict[str, str]] = []
    for tool in MAKE:
        with tempfile.TemporaryDirectory() as folder:
            sizes = {"run": points, "tenth": points // 10} if tool in SLOW else {"run": points}
            for name, size in sizes.items():
                Path(folder, name).mkdir()
                python(ROW + MAKE[tool], f"{folder}/{name}", str(size // NAMES))
            rows += measure(tool, f"{folder}/run", f"{folder}/{list(sizes)[-1]}")
    results.show(rows)
    results.append(rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
