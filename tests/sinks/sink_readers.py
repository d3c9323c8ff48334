"""Reading back what a sink wrote, with the library's own reader: `{name: {step: value}}`."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import struct
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

Series = dict[str, dict[int, float]]
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def jsonl(folder: Path) -> Series:
    found: Series = defaultdict(dict)
    for line in next(folder.glob("rows.*.jsonl")).read_text().splitlines():
        row = json.loads(line, parse_constant=lambda word: 1 / 0)  # a bare NaN is not JSON
        if row["table"] == "metrics":
            for name, value in row["data"].items():
                if value is not None:
                    found[name][row["step"]] = WORDS.get(value, value)
    return found


def tensorboard(folder: Path) -> Series:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}


def wandb_records(folder: Path) -> list[Any]:
    """W&B's own messages out of its file: a 7-byte head, then chunks of crc32, length, type in blocks of 32 kB."""
    import wandb
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # W&B's own process writes the file, and goes on after finish(); this waits for it
    data = next(folder.glob("wandb/offline-run-*/run-*.wandb")).read_bytes()
    assert data[:4] == b":W&B"
    records, parts, at = [], b"", 7
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        crc, length, kind = struct.unpack_from("<IHB", data, at)
        chunk = data[at + 7 : at + 7 + length]
        assert zlib.crc32(bytes([kind]) + chunk) == crc
        parts, at = parts + chunk, at + 7 + length
        if kind in (1, 4):
            records.append(wandb_internal_pb2.Record.FromString(parts))
            parts = b""
    return records


def wandb(folder: Path) -> Series:
    found: Series = defaultdict(dict)
    for record in wandb_records(folder):
        row = {(item.key or "/".join(item.nested_key)): json.loads(item.value_json) for item in record.history.item}
        if "rollscope/step" in row and "samples" not in row:
            for name, value in row.items():
                if not name.startswith("_") and name != "rollscope/step":
                    found[name][row["rollscope/step"]] = WORDS.get(value, value) if isinstance(value, str) else value
    return found


def swanlab(folder: Path) -> Series:
    from swanlab.proto.swanlab.record.v1 import record_pb2
    from swanlab.sdk.internal.core_python.store import DataStoreReader

    reader = DataStoreReader()
    reader.open(next(folder.glob("swanlog/run-*/run-*.swanlab")))
    found: Series = defaultdict(dict)
    while (data := reader.scan()) is not None:
        record = record_pb2.Record()
        record.ParseFromString(data)
        if record.HasField("scalar"):
            found[record.scalar.key][record.scalar.step] = record.scalar.value.number
    reader.close()
    return found


def trackio(folder: Path) -> Series:
    from trackio.utils import deserialize_values

    found: Series = defaultdict(dict)
    db = sqlite3.connect(Path(os.environ["TRACKIO_DIR"]) / f"{folder.name}.db")
    for step, metrics in db.execute("select step, metrics from metrics"):
        for name, value in deserialize_values(json.loads(metrics)).items():
            if name != "samples":
                found[name][step] = value
    db.close()
    return found


def mlflow(folder: Path) -> Series:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    run = client.search_runs([client.get_experiment_by_name(folder.name).experiment_id])[0]
    return {
        name: {m.step: m.value for m in client.get_metric_history(run.info.run_id, name)} for name in run.data.metrics
    }


READERS = {
    "jsonl": jsonl,
    "tensorboard": tensorboard,
    "wandb": wandb,
    "swanlab": swanlab,
    "trackio": trackio,
    "mlflow": mlflow,
}
