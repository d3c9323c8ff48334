"""The files of one set, written from pieces that come in their final order: Parquet, checksums, and the summaries beside them."""

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


class SetFiles:
    def __init__(self, folder: str, run: str, declared: Mapping[str, Any]) -> None:
        self.folder, self.run, self.declared = folder, run, declared
        self.files: dict[str, Any] = {}  # as the manifest lists them
        self.sidecars: dict[str, Any] = {}
        self.hashes: sample_ids.Hashes | None = None  # of the samples' ids, in order

    def metrics(self, batches: Iterable[NamedRows], words: Words) -> None:
        writing: parquet.TableWriter | None = None
        summaries: list[dict[str, pa.Table]] = []
        for batch in batches:
            if not len(batch.rows):
                continue
            named = batch.sorted()
            table = metric_table.table(named, words, self.run)
            writing = writing or parquet.TableWriter(
                os.path.join(self.folder, "metrics.parquet"), table.schema, "metrics"
            )
            writing.add(table)
            summaries.append(name_table.tables(named, words))
        if writing is not None:
            writing.close()
            self._described("metrics.parquet")
            for name, found in name_table.joined(summaries).items():
                self._sidecar(f"{name}.arrow", found, "zstd" if name != "names" else None)

    def table(self, name: str, stream: Stream) -> None:
        """A table's narrow columns, its big ones in a file of their own, and what is kept about samples. What nobody said is not there."""
        columns = [field for field in arrow.schema(arrow.fields(name)) if field.name in stream.said]
        big = {column.name for column in arrow.fields(name, big=True)}
        keys = TEXT_KEYS.get(name, ())
        writings = {f"{name}.parquet": self._writing(f"{name}.parquet", [f for f in columns if f.name not in big])}
        if big:
            whole = {field.name: field for field in arrow.schema(arrow.fields(name))}
            text = [*(whole[key] for key in keys), *(f for f in columns if f.name in big), whole[arrow.ESCAPED]]
            writings[f"{name}.text.parquet"] = self._writing(f"{name}.text.parquet", text)
        about = _Samples(self.declared) if name == "samples" else None
        for piece in stream.pieces:
            for writing in writings.values():
                writing.add(piece)
            if about is not None:
                about.add(piece)
        for file, writing in writings.items():
            writing.close()
            self._described(file)
        if about is not None:
            for file, found in about.tables().items():
                self._sidecar(file, found)
            self.hashes = np.sort(about.hashes)
            self._written("ids.prefix", sample_ids.prefixes(self.hashes).tobytes())

    def _writing(self, file: str, columns: list[pa.Field]) -> parquet.TableWriter:
        return parquet.TableWriter(
            os.path.join(self.folder, file), pa.schema(columns), file.split(".")[0], file.endswith(".text.parquet")
        )

    def _described(self, file: str) -> None:
        self.files[file], footer = checksum.describe(os.path.join(self.folder, file))
        self._written(file + ".footer", footer)

    def _written(self, file: str, raw: bytes) -> None:
        with open(os.path.join(self.folder, file), "wb") as sidecar:
            sidecar.write(raw)
        self.sidecars[file] = {"size": len(raw), "crc": zlib.crc32(raw)}

    def _sidecar(self, file: str, found: pa.Table, compression: str | None = None) -> None:
        path = os.path.join(self.folder, file)
        with (
            pa.OSFile(path, "wb") as sink,
            pa.ipc.new_file(sink, found.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer,
        ):
            writer.write_table(found.combine_chunks())
        with open(path, "rb") as written:
            self.sidecars[file] = {"size": os.path.getsize(path), "crc": zlib.crc32(written.read())}


class _Samples:
    """Hashed ids, and statistics of every step that is over: the next step has begun."""

    def __init__(self, declared: Mapping[str, Any]) -> None:
        self._declared = declared
        self._hashes: list[sample_ids.Hashes] = []
        self._steps: list[pa.Table] = []
        self._open: list[pa.Table] = []  # rows of the last step so far

    def add(self, piece: pa.Table) -> None:
        self._hashes.append(sample_ids.hashes(piece["id"].to_pylist()))
        self._open.append(piece.select(COLUMNS).filter(piece["step"].is_valid()))
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
        return {
            "ids.arrow": sample_ids.index(self.hashes),
            "rollup.arrow": pa.concat_tables(self._steps).unify_dictionaries(),
        }
