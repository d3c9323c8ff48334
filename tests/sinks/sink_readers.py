"""Read what a sink wrote, with the library's own reader, as `{name: {step: value}}`."""

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
    series: Series = defaultdict(dict)
    for line in next(folder.glob("rows.*.jsonl")).read_text().splitlines():
        row = json.loads(line, parse_constant=lambda word: 1 / 0)  # a bare NaN is not JSON
        if row["table"] == "metrics":
            for name, value in row["data"].items():
                if value is not None:
                    series[name][row["step"]] = WORDS.get(value, value)
    return series


def tensorboard(folder: Path) -> Series:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}


def wandb_records(folder: Path) -> list[Any]:
    """The messages in W&B's file: a head of 7 bytes, then blocks of 32 kB.

    A block holds chunks of crc32, length, type and data.
    """
    import wandb
    from wandb.proto import wandb_internal_pb2

    wandb.teardown()  # waits for W&B's own process, which goes on writing after finish()
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
    series: Series = defaultdict(dict)
    for record in wandb_records(folder):
        row = {(item.key or "/".join(item.nested_key)): json.loads(item.value_json) for item in record.history.item}
        if "rollscope/step" in row and not any(name.startswith("samples") for name in row):
            for name, value in row.items():
                if not name.startswith("_") and name != "rollscope/step":
                    number = WORDS.get(value, value) if isinstance(value, str) else value
                    series[name][row["rollscope/step"]] = number
    return series


def swanlab(folder: Path) -> Series:
    from swanlab.proto.swanlab.record.v1 import record_pb2
    from swanlab.sdk.internal.core_python.store import DataStoreReader

    reader = DataStoreReader()
    reader.open(next(folder.glob("swanlog/run-*/run-*.swanlab")))
    series: Series = defaultdict(dict)
    while (data := reader.scan()) is not None:
        record = record_pb2.Record()
        record.ParseFromString(data)
        if record.HasField("scalar"):
            series[record.scalar.key][record.scalar.step] = record.scalar.value.number
    reader.close()
    return series


def trackio(folder: Path) -> Series:
    from trackio.utils import deserialize_values

    series: Series = defaultdict(dict)
    db = sqlite3.connect(Path(os.environ["TRACKIO_DIR"]) / f"{folder.name}.db")
    for step, metrics in db.execute("select step, metrics from metrics"):
        for name, value in deserialize_values(json.loads(metrics)).items():
            if name != "samples":
                series[name][step] = value
    db.close()
    return series


def mlflow(folder: Path) -> Series:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder / 'mlflow.db'}")
    run = client.search_runs([client.get_experiment_by_name(folder.name).experiment_id])[0]
    histories = {name: client.get_metric_history(run.info.run_id, name) for name in run.data.metrics}
    return {name: {point.step: point.value for point in history} for name, history in histories.items()}


def prometheus(folder: Path) -> Series:
    """Prometheus holds the latest values only, so every value is of the latest step."""
    from prometheus_client.parser import text_string_to_metric_families

    families = text_string_to_metric_families((folder / "metrics.prom").read_text())
    latest = {sample.labels["name"]: sample.value for family in families for sample in family.samples}
    step = int(latest.pop("step"))
    return {name: {step: value} for name, value in latest.items()}


READERS = {
    "jsonl": jsonl,
    "tensorboard": tensorboard,
    "wandb": wandb,
    "swanlab": swanlab,
    "trackio": trackio,
    "mlflow": mlflow,
}
