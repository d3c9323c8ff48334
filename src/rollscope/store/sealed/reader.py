"""Read one sealed set: its metrics by name, its tables, and the summaries stored beside them.

A summary (sidecar) that fails its checksum is computed again from the rows.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rollscope.errors import CorruptFile
from rollscope.store import arrow, sample_ids
from rollscope.store.live import paged
from rollscope.store.live.metrics import Extent
from rollscope.store.log.frame import Damage
from rollscope.store.numbers.buckets import Summaries
from rollscope.store.numbers.merge import Points, merge
from rollscope.store.numbers.rows import Ints, NamedRows, Rows, States, Words
from rollscope.store.numbers.step_marks import NONE, StepMarks

from . import manifest, metric_table, pyramid
from .file import SealedFile
from .recent_groups import RecentGroups

WITH_STATE = (*metric_table.READ, "state")


class SealedSet:
    def __init__(self, path: str, words: Words) -> None:
        self.path, self.words = path, words
        self.facts, self._damage = manifest.read(path)
        try:
            self._take(self.facts)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise CorruptFile(f"{path}: the manifest is whole but not understood ({error!r})") from error
        self._levels: dict[int, Summaries | None] = {}
        self._steps: dict[str, StepMarks] = {}
        self._runs: pa.Table | None = None

    def _take(self, facts: dict[str, Any]) -> None:
        """Take over the facts of the manifest."""
        self.sources: dict[str, int] = facts["sources"]
        self.files = {
            name: SealedFile(os.path.join(self.path, name), about, os.path.join(self.path, name + ".footer"))
            for name, about in facts["files"].items()
        }
        extent = facts["extent"]
        first = {int(attempt): step for attempt, step in extent["first"].items()}
        self.extent = Extent(first, extent["last_step"], extent["lo_ns"], extent["hi_ns"])

    # ---- checking

    @property
    def damage(self) -> list[Damage]:
        """The damage of this set, and of the logs it was made from."""
        folder = os.path.dirname(self.path)
        of_logs = [Damage(os.path.join(folder, file), *rest) for file, *rest in self.facts["damage"]]
        return of_logs + self._damage + [damage for file in self.files.values() for damage in file.damage]

    def verify(self) -> list[Damage]:
        """Read and check every byte of the set; return all damage."""
        self.is_sound()
        for name in self.facts["sidecars"]:
            self._sidecar_bytes(name)
        self._damage += [damage for damage in manifest.check(self.path) if damage not in self._damage]
        return self.damage

    def is_sound(self) -> bool:
        """True if every row is as it was sealed."""
        return all([file.is_sound() for file in self.files.values()])  # a list: every file is checked

    # ---- tables and summaries

    def table(self, name: str) -> pa.Table | None:
        """The narrow columns of a table.

        The runs table is small and asked for often: it is kept.
        """
        file = self.files.get(f"{name}.parquet")
        if file is None or name != "runs":
            return None if file is None else file.read()
        if self._runs is None:
            self._runs = file.read()
        return self._runs

    def sidecar(self, name: str) -> pa.Table | None:
        """A summary; None if it is missing or fails its checksum."""
        raw = self._sidecar_bytes(name) if name in self.facts["sidecars"] else None
        try:
            return None if raw is None else pa.ipc.open_file(paged.data(raw)).read_all()
        except pa.ArrowException as error:
            self._lose_sidecar(name, f"is whole but no Arrow file ({error})")
            return None

    def _sidecar_bytes(self, name: str) -> bytes | None:
        facts, path = self.facts["sidecars"][name], os.path.join(self.path, name)
        raw = manifest.read_file(path, facts["size"])
        if raw is not None and zlib.crc32(raw) == facts["crc"]:
            return raw
        self._lose_sidecar(name, "fails its checksum")
        return None

    def _lose_sidecar(self, name: str, says: str) -> None:
        size = self.facts["sidecars"][name]["size"]
        says = f"the sidecar {says}; the rows that it summarises are read instead"
        damage = Damage(os.path.join(self.path, name), 0, size, says)
        self._damage += [] if damage in self._damage else [damage]

    def steps_of(self, table: str) -> StepMarks:
        """The number of rows of each step of a table."""
        if table not in self._steps:
            file = self.files.get(f"{table}.parquet")
            self._steps[table] = NONE if file is None else file.count_by_step()
        return self._steps[table]

    def summaries(self, level: int) -> Summaries | None:
        """A level of the pyramid, over all names end to end."""
        if level not in self._levels:
            stored = self.sidecar(f"pyramid_{level}.arrow")
            self._levels[level] = None if stored is None else pyramid.loaded(stored)
        return self._levels[level]

    # ---- ids of samples and turns

    @cached_property
    def ids(self) -> pa.Table:
        """Hashed ids of the samples, in order, with their row numbers."""
        index = self.sidecar("ids.arrow")
        if index is None:
            ids = self.files["samples.parquet"].read(["id"])["id"]
            index = sample_ids.index(sample_ids.hashes(ids.to_pylist()))
        return index

    @cached_property
    def hashes(self) -> sample_ids.Hashes:
        """Hashed ids of the samples, in order."""
        hashes: sample_ids.Hashes = arrow.filled(self.ids["hash"], 0)
        return hashes

    @cached_property
    def _prefixes(self) -> NDArray[np.uint32] | None:
        raw = self._sidecar_bytes("ids.prefix") if "ids.prefix" in self.facts["sidecars"] else None
        return None if raw is None else np.frombuffer(raw, "<u4")

    def has(self, hashes: sample_ids.Hashes) -> NDArray[np.bool_]:
        """Which of these ids have samples here. Their prefixes often tell that none has."""
        prefixes = None if "hashes" in self.__dict__ else self._prefixes
        if prefixes is not None and not sample_ids.among(prefixes, sample_ids.prefixes(hashes)).any():
            return np.zeros(len(hashes), bool)
        return sample_ids.among(self.hashes, hashes)

    @cached_property
    def turns(self) -> tuple[pa.Array, Ints, Ints]:
        """Ids of samples with turns; of each readable turn, its index among them and row number."""
        file = self.files["turns.parquet"]
        groups = file.passing()
        column = file.read(["sample"], groups)["sample"].combine_chunks().dictionary_encode()
        return column.dictionary, np.asarray(column.indices.fill_null(-1)), file.row_numbers(groups)

    # ---- names of metrics

    @cached_property
    def name_table(self) -> Any:
        """The names table of `name_table.py`; None if the set has no metrics."""
        table = self.sidecar("names.arrow")
        if table is None and "metrics.parquet" in self.files:
            from . import name_table

            table = self._renumbered(name_table.tables(self._everything(), self.words)["names"])
        return table

    def _renumbered(self, table: pa.Table) -> pa.Table:
        """Number the rows as in the file, where row groups that failed leave gaps."""
        file = self.files["metrics.parquet"]
        numbers = file.row_numbers(file.passing())
        row = arrow.numbers(table["row"])
        first, last = numbers[row], numbers[row + arrow.numbers(table["rows"]) - 1]
        for name, values in (("row", first), ("rows", last - first + 1)):
            table = table.set_column(table.column_names.index(name), name, pa.array(values))
        return table

    @cached_property
    def names(self) -> dict[str, int]:
        """Name -> its index in the columns of the names table."""
        if self.name_table is None:
            return {}
        names = self.name_table["name"].to_pylist()
        for i in np.flatnonzero(arrow.numbers(self.name_table["escaped"])) if names else ():
            names[i] = arrow.unescape(names[i])
        return {name: i for i, name in enumerate(names)}

    @cached_property
    def _listed_names(self) -> list[str]:
        return list(self.names)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The numeric columns of the names table."""
        words = ("name", "kind", "writer")
        names = [name for name in self.name_table.column_names if name not in words]
        return {name: arrow.numbers(self.name_table[name]) for name in names}

    # ---- metric rows

    def rows(self, name: str) -> Rows:
        """The rows of a name."""
        i = self.names.get(name)
        if i is None:
            return Rows.empty()
        return _rows(self, i) if self.columns["plain"][i] else self.decoded_rows(i)

    def decoded_rows(self, i: int) -> Rows:
        """The rows of the name at index `i`, read from the file."""
        lo = int(self.columns["row"][i])
        hi = lo + int(self.columns["rows"][i])
        if not self.columns["plain"][i]:
            tables = self._tables_between(lo, hi, _with_state)
            return Rows.join([metric_table.rows(table, self.words) for table in tables])
        if self.columns["one"][i]:
            tables = self._tables_between(lo, hi, _reading(metric_table.FEW))
            return Rows.join([self._of_one_writer(table, i) for table in tables])
        tables = self._tables_between(lo, hi, _reading(metric_table.READ))
        return Rows.join([metric_table.rows(table, self.words) for table in tables])

    def _of_one_writer(self, table: pa.Table, i: int) -> Rows:
        """Rows that differ only in step, time and value; the names table has the rest."""
        n, columns = len(table), self.columns
        return Rows(
            step=arrow.numbers(table["step"]),
            time_ns=arrow.numbers(table["time_ns"]),
            value=arrow.numbers(table["value"]),
            weight=np.full(n, np.nan),
            kind=np.full(n, self.words.code(self.name_table["kind"][i].as_py()), np.int32),
            writer=np.full(n, self.words.code(self.name_table["writer"][i].as_py()), np.int32),
            seq=np.full(n, columns["seq"][i]),
            rank=np.full(n, columns["rank"][i]),
            attempt=np.full(n, columns["attempt"][i]),
            scope=np.zeros(n, np.int32),
            state=States.none(n),
        )

    def points(self, i: int) -> Points:
        """The merged series of the name at index `i`, if its points are complete in this set."""
        return merge(self.rows(self._listed_names[i]).unscoped(), self.words, {})

    def plain_summaries(self, group: int) -> Summaries | None:
        """The rows of a metrics row group as plain numbers; None if it fails its checksum.

        The latest groups are cached: a screen asks for the same ones at every zoom.
        """
        return _plain(self.files["metrics.parquet"], group)

    def some_names(self, lo: int, hi: int) -> NamedRows:
        """All rows of the names with indices [lo, hi)."""
        first, counts = self.columns["row"][lo:hi], self.columns["rows"][lo:hi]
        tables = self._tables_between(int(first[0]), int(first[-1] + counts[-1]), _reading(WITH_STATE))
        rows = Rows.join([metric_table.rows(table, self.words) for table in tables])
        return NamedRows(self._listed_names[lo:hi], np.repeat(np.arange(hi - lo, dtype=np.int32), counts), rows)

    def _tables_between(self, lo: int, hi: int, read: Callable[[SealedFile, int], pa.Table]) -> Iterator[pa.Table]:
        """The metric rows [lo, hi), a table per row group that passes its checksum."""
        file = self.files["metrics.parquet"]
        for group in file.groups_between(lo, hi):
            table = read(file, group)
            if len(table):
                start = int(file.starts[group])
                yield table.slice(max(lo - start, 0), min(hi, start + len(table)) - max(lo, start))

    def _everything(self) -> NamedRows:
        """All metric rows, if the names table is lost."""
        table = self.files["metrics.parquet"].read((*WITH_STATE, "name", arrow.ESCAPED))
        return metric_table.named_rows(table, self.words)


def _reading(columns: Sequence[str]) -> Callable[[SealedFile, int], pa.Table]:
    return lambda file, group: file.read(columns, [group])


def _decoded_plain(file: SealedFile, group: int) -> Summaries | None:
    table = file.read(metric_table.FEW, [group])
    if not len(table):
        return None
    return Summaries.plain(*paged.arrays([arrow.numbers(table[name]) for name in metric_table.FEW]))


# Neighbouring names are read one after the other. Decoding with states takes 25 ms, or 120 where
# states are long: then a group has 50 MB, and two of them must stay.
_with_state = RecentGroups[pa.Table, SealedFile](
    lambda file, group: paged.table(file.read(WITH_STATE, [group])), lambda table: table.nbytes, 128 << 20
)
# A doctor reads twenty names at every step of a run; 10,000 points of one take 3 ms and 0.8 MB.
_rows = RecentGroups(SealedSet.decoded_rows, lambda rows: 80 * len(rows), 32 << 20)
_plain = RecentGroups(_decoded_plain, lambda plain: 0 if plain is None else 24 * len(plain), 96 << 20)
