"""TensorBoard event files in `<run folder>/tensorboard`, by TensorBoard's own writer.

torch is not needed. Scalars carry the time they were logged at, and steps may come in any order.
TensorBoard holds scalars as float32, including NaN and infinities. It has no tables, so samples and
notes become text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import Row
from .numbers import present, speakable


class TensorBoardSink:
    """Writes one event file."""

    def __init__(self, info: Mapping[str, Any], dialect: str | None = None, path: str | Path | None = None) -> None:
        self.path = Path(path or Path(info.get("dir") or ".") / "tensorboard")
        self._dialect = dialect
        self._writer: EventFileWriter | None = EventFileWriter(str(self.path))
        if info.get("config"):
            config = json.dumps(speakable(info["config"]), indent=2)
            self._add(Row("runs", 0, int(info.get("started_ns") or 0)), [_text("config", config)])

    def write(self, rows: Sequence[Row]) -> None:
        for row in rows:
            if row.table == "metrics":
                values = present(row.data, self._dialect)
                self._add(row, [Summary.Value(tag=name, simple_value=value) for name, value in values.items()])
            elif row.table == "samples":
                self._add(row, [_text(f"samples/{row.data.get('id', '')}", _sample(row.data))])
            elif row.table == "notes":
                self._add(row, [_text("notes", str(row.data.get("text", "")))])
        assert self._writer is not None, "the tensorboard sink was closed"
        self._writer.flush()

    def _add(self, row: Row, values: list[Any]) -> None:
        assert self._writer is not None, "the tensorboard sink was closed"
        self._writer.add_event(Event(wall_time=row.time_ns / 1e9, step=row.step or 0, summary=Summary(value=values)))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _text(tag: str, text: str) -> Any:
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    tensor = TensorProto(dtype=DT_STRING, string_val=[text.encode("utf-8", "replace")], tensor_shape=shape)
    plugin = SummaryMetadata.PluginData(plugin_name="text")
    return Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=plugin), tensor=tensor)


def _sample(data: Mapping[str, Any]) -> str:
    """A sample as Markdown: prompt, completion and facts.

    Indented, so that a completion is never markup.
    """
    texts = ("prompt", "completion", "messages")
    facts = {key: value for key, value in data.items() if key not in texts and not isinstance(value, list)}
    lines: list[str] = []
    for key in ("prompt", "completion"):
        lines += [*str(data.get(key) or "").splitlines(), ""]
    return "\n".join("    " + line for line in [*lines, json.dumps(speakable(facts))])
