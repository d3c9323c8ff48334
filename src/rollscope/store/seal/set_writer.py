"""Write the files of one set from rows in their final order: Parquet, checksums and sidecars."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.store import arrow, sample_ids
from rollscope.store.numbers.rollup import COLUMNS, rollup
from rollscope.store.numbers.rows import NamedRows, Words
from rollscope.store.sealed import checksum, metric_table, name_table, parquet

from .streams import Stream

TEXT_KEYS = {"samples": ("id", "step"), "turns": ("sample", "turn", "step")}  # for readers of the text file alone


class SetWriter:
    def __init__(self, folder: str, run: str, declared: Mapping[str, Any]) -> None:
        self.folder, self.run, self.declared = folder, run, declared
        self.files: dict[str, Any] = {}  # as the manifest lists them
        self.sidecars: dict[str, Any] = {}
        self.hashes: sample_ids.Hashes | None = None  # of the samples' ids, in order

    def metrics(self, batches: Iterable[NamedRows], words: Words) -> None:
        """Write the metrics, the names table and the pyramid."""
        writer: parquet.TableWriter | None = None
        summaries: list[dict[str, pa.Table]] = []
        for batch in batches:
            if not len(batch.rows):
                continue
            named = batch.sorted()
            table = metric_table.table(named, words, self.run)
            writer = writer or self._writer("metrics.parquet", table.schema)
            writer.add(table)
            summaries.append(name_table.tables(named, words))
        if writer is not None:
            writer.close()
            self._describe("metrics.parquet")
            for name, table in name_table.joined(summaries).items():
                self._write_table(f"{name}.arrow", table, "zstd" if name != "names" else None)

    def table(self, name: str, stream: Stream) -> None:
        """Write a table: narrow columns, big columns in a file of their own, sidecars of samples.

        Columns without values are not written.
        """
        writers = self._writers(name, stream)
        summary = _SampleSummary(self.declared) if name == "samples" else None
        for rows in stream.tables:
            for writer in writers.values():
                writer.add(rows)
            if summary is not None:
                summary.add(rows)
        for file, writer in writers.items():
            writer.close()
            self._describe(file)
        if summary is not None:
            for file, table in summary.tables().items():
                self._write_table(file, table)
            self.hashes = np.sort(summary.hashes)
            self._write_bytes("ids.prefix", sample_ids.prefixes(self.hashes).tobytes())

    def _writers(self, name: str, stream: Stream) -> dict[str, parquet.TableWriter]:
        """The writer of a table's narrow columns, and of its big ones if it has any."""
        schema = arrow.schema(arrow.fields(name))
        columns = [field for field in schema if field.name in stream.columns]
        big = {column.name for column in arrow.fields(name, big=True)}
        files = {f"{name}.parquet": [field for field in columns if field.name not in big]}
        if big:
            keys = [schema.field(key) for key in TEXT_KEYS.get(name, ())]
            text = [field for field in columns if field.name in big]
            files[f"{name}.text.parquet"] = [*keys, *text, schema.field(arrow.ESCAPED)]
        return {file: self._writer(file, pa.schema(fields)) for file, fields in files.items()}

    def _writer(self, file: str, schema: pa.Schema) -> parquet.TableWriter:
        path, table = os.path.join(self.folder, file), file.split(".")[0]
        return parquet.TableWriter(path, schema, table, file.endswith(".text.parquet"))

    def _describe(self, file: str) -> None:
        """List a finished Parquet file, and copy its footer."""
        self.files[file], footer = checksum.describe(os.path.join(self.folder, file))
        self._write_bytes(file + ".footer", footer)

    def _write_bytes(self, file: str, raw: bytes) -> None:
        with open(os.path.join(self.folder, file), "wb") as sidecar:
            sidecar.write(raw)
        self.sidecars[file] = {"size": len(raw), "crc": zlib.crc32(raw)}

    def _write_table(self, file: str, table: pa.Table, compression: str | None = None) -> None:
        path = os.path.join(self.folder, file)
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as writer:
            writer.write_table(table.combine_chunks())
        with open(path, "rb") as written:
            self.sidecars[file] = {"size": os.path.getsize(path), "crc": zlib.crc32(written.read())}


class _SampleSummary:
    """Hashed ids, and statistics of every step that is complete: rows of a later step have come."""

    def __init__(self, declared: Mapping[str, Any]) -> None:
        self._declared = declared
        self._hashes: list[sample_ids.Hashes] = []
        self._steps: list[pa.Table] = []
        self._open: list[pa.Table] = []  # rows of the last step so far

    def add(self, samples: pa.Table) -> None:
        self._hashes.append(sample_ids.hashes(samples["id"].to_pylist()))
        self._open.append(samples.select(COLUMNS).filter(samples["step"].is_valid()))
        rows = pa.concat_tables(self._open)
        over = int(pc.sum(pc.less(rows["step"], rows["step"][-1])).as_py() or 0) if len(rows) else 0
        if over:
            self._steps.append(rollup(rows.slice(0, over), self._declared))
        self._open = [pa.concat_tables([rows.slice(over)]).combine_chunks()]

    @property
    def hashes(self) -> sample_ids.Hashes:
        return np.concatenate([np.empty(0, np.uint64), *self._hashes])

    def tables(self) -> dict[str, pa.Table]:
        self._steps += [rollup(pa.concat_tables(self._open), self._declared)] if self._open or not self._steps else []
        statistics = pa.concat_tables(self._steps).unify_dictionaries()
        return {"ids.arrow": sample_ids.index(self.hashes), "rollup.arrow": statistics}
