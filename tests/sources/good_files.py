"""A small good file for every source. A source without one fails `test_every_source.py`."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.sources.dump_files import GOLDEN, WRITERS, write_lines

EVENTS = [{"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": i, "dur": 1} for i in range(40)]
SPAN = {"traceId": "0" * 31 + "1", "spanId": "0" * 15 + "1", "name": "chat", "startTimeUnixNano": "1000"}
RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "agent"}}]}
TRACE = {"resourceSpans": [{"resource": RESOURCE, "scopeSpans": [{"spans": [{**SPAN, "endTimeUnixNano": "2000"}]}]}]}


def chrome_trace(folder: Path) -> Path:
    return _written(folder / "t.json", json.dumps({"traceEvents": EVENTS}))


def csv(folder: Path) -> Path:
    return _written(folder / "log.csv", "step,loss\n" + "".join(f"{i},{i / 2}\n" for i in range(40)))


def evaluations(folder: Path) -> Path:
    rows = [{"set": "math", "task": str(i), "score": i % 2, "prompt": "q", "completion": "a"} for i in range(20)]
    return write_lines(folder / "rows.jsonl", *rows)


def inspect(folder: Path) -> Path:
    return _copied(GOLDEN / "inspect" / "sums.eval", folder)


def json_list(folder: Path) -> Path:
    return _written(folder / "export.json", json.dumps([{"step": i, "loss": i / 2} for i in range(40)]))


def jsonl(folder: Path) -> Path:
    return write_lines(folder / "log.jsonl", *({"step": i, "loss": i / 2} for i in range(40)))


def lm_eval(folder: Path) -> Path:
    return _copied(next((GOLDEN / "lm_eval").glob("samples_*.jsonl")), folder)


def mlflow(folder: Path) -> Path:
    code = """
import mlflow
with mlflow.start_run(run_name="first"):
    for i in range(5): mlflow.log_metric("loss", i / 2, step=i)"""
    _python(code, MLFLOW_TRACKING_URI=f"sqlite:///{folder}/m.db")
    return folder / "m.db"


def otlp(folder: Path) -> Path:
    return write_lines(folder / "traces.jsonl", *[TRACE] * 3)


def rlinf(folder: Path) -> Path:
    """A video with a head, frames and an index, as far as the source looks."""
    path = folder / "video" / "train" / "seed_7" / "0.mp4"
    path.parent.mkdir(parents=True)
    path.write_bytes(box(b"ftyp", b"isom") + box(b"mdat", bytes(500)) + box(b"moov", bytes(100)))
    return path


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", 8 + len(content)) + kind + content


def rollouts(folder: Path) -> Path:
    table = pa.table({"prompt": ["p"] * 300, "completion": [f"c{i}" for i in range(300)]})
    pq.write_table(table, folder / "r.parquet", row_group_size=100)
    return folder / "r.parquet"


def skyrl(folder: Path) -> Path:
    """A batch: its other files are JSON lines, as those of many sources."""
    return _copied(GOLDEN / "dumps" / "skyrl" / "dumped_data" / "global_step_3_training_input.pkl", folder)


def swanlab(folder: Path) -> Path:
    code = """
import sys, swanlab
swanlab.init(project="p", experiment_name="n", mode="offline", logdir=sys.argv[1])
for i in range(30): swanlab.log({"loss": 1 / (i + 1)}, step=i)
swanlab.finish()"""
    _python(code, str(folder))
    return next(folder.rglob("*.swanlab"))


def telescope(folder: Path) -> Path:
    return _copied(GOLDEN / "dumps" / "telescope" / "steps" / "block_live.zip", folder / "steps")


def tensorboard(folder: Path) -> Path:
    return _copied(next(GOLDEN.glob("trl/grpo/**/*tfevents*")), folder)


def trackio(folder: Path) -> Path:
    return _copied(GOLDEN / "trackio" / "trl-run.db", folder)


def trinity(folder: Path) -> Path:
    return _copied(GOLDEN / "trinity" / "explorer_output.db", folder)


def trl(folder: Path) -> Path:
    return _copied(GOLDEN / "trl" / "grpo" / "log_history.json", folder)


def verl(folder: Path) -> Path:
    rows = [{"input": f"q{i // 2}", "output": "a", "score": 0.5, "gts": "4", "step": 1} for i in range(20)]
    return write_lines(folder / "rollout_data" / "1.jsonl", *rows)


def wandb(folder: Path) -> Path:
    code = """
import sys, wandb
r = wandb.init(project="p", mode="offline", dir=sys.argv[1], settings=wandb.Settings(silent=True, console="off"))
for i in range(50): r.log({"loss": 1 / (i + 1)}, step=i)
r.finish()"""
    _python(code, str(folder))
    return next(folder.rglob("*.wandb"))


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def _copied(path: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(path, folder))


def _python(code: str, *args: str, **env: str) -> None:
    subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True, env={**os.environ, **env})


OWN: tuple[Callable[[Path], Path], ...] = (
    *(chrome_trace, csv, evaluations, inspect, jsonl, lm_eval, mlflow, otlp, rlinf, rollouts, skyrl, swanlab),
    *(telescope, tensorboard, trackio, trinity, trl, verl, wandb),
)
DUMPED = {name: write for name, write in WRITERS.items() if name != "miles"}  # slime's source reads it
GOOD: dict[str, Callable[[Path], Any]] = {
    "json": json_list,
    **DUMPED,
    **{write.__name__: write for write in OWN},
}
