"""A sealed set, read: only checked bytes are decoded. A row group that does not hold its checksum is reported and left out."""

from __future__ import annotations

import io
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rollscope.store import arrow, sample_ids
from rollscope.store.lazy import Later
from rollscope.store.live.metrics import Extent
from rollscope.store.log.frame import Damage
from rollscope.store.numbers.buckets import Summaries
from rollscope.store.numbers.merge import Points, merge
from rollscope.store.numbers.rows import Ints, NamedRows, Rows, States, Words

from . import checksum, manifest, metric_table
from .name_table import blocks_of

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from . import parquet
else:  # what the summaries answer needs no Parquet, and importing its reader takes longer than most answers
    pq, parquet = Later("pyarrow.parquet"), Later("rollscope.store.sealed.parquet")

WITH_STATE = (*metric_table.READ, "state")
Decoded = Callable[["File", int], pa.Table]


class File:
    """One Parquet file of a set."""

    def __init__(self, path: str, facts: dict[str, Any], footer: str) -> None:
        self.path, self.rows, self._footer = path, int(facts["rows"]), footer
        self.groups = [checksum.Group(*group) for group in facts["groups"]]
        self._facts = facts
        self._state = [0] * len(self.groups)  # 0 not looked at, 1 holds, 2 does not
        self._lock = threading.Lock()
        self.damage: list[Damage] = []
        self.starts = np.cumsum([0, *(group.rows for group in self.groups)])

    @cached_property
    def metadata(self) -> pq.FileMetaData:
        """The footer, from its copy when it does not hold."""
        offset, length, crc = self._facts["footer"]
        with open(self.path, "rb") as file:
            raw = os.pread(file.fileno(), length, offset)
        if zlib.crc32(raw) != crc or os.path.getsize(self.path) != self._facts["size"]:
            self.damage.append(
                Damage(self.path, offset, length, "the footer does not hold its checksum; its copy is used")
            )
            with open(self._footer, "rb") as file:
                raw = file.read()
        return pq.read_metadata(io.BytesIO(b"PAR1" + raw))

    @cached_property
    def _file(self) -> pq.ParquetFile:
        words = parquet.METRIC_WORDS if self.path.endswith("metrics.parquet") else None  # a number per row, not a text
        return pq.ParquetFile(self.path, metadata=self.metadata, pre_buffer=False, read_dictionary=words)

    def holds(self, group: int) -> bool:
        """Is this row group what was sealed? Looked at once, by threads beside each other."""
        if self._state[group] == 0:
            facts = self.groups[group]
            with open(self.path, "rb") as file:
                good = checksum.of_range(file.fileno(), facts.offset, facts.length) == facts.crc
            with self._lock:
                if self._state[group] == 0 and not good:
                    self.damage.append(
                        Damage(
                            self.path,
                            facts.offset,
                            facts.length,
                            f"row group {group} ({facts.rows} rows) does not hold its checksum",
                        )
                    )
                self._state[group] = 1 if good else 2
        return self._state[group] == 1

    @cached_property
    def columns(self) -> set[str]:
        return set(self._file.schema_arrow.names)

    @cached_property
    def leaves(self) -> dict[str, int]:
        """Places of the columns in the file."""
        return {self.metadata.schema.column(i).path: i for i in range(self.metadata.num_columns)}

    @cached_property
    def flagged(self) -> bool:
        """May a row have an escaped text?"""
        if arrow.ESCAPED not in self.columns:
            return False
        found = [
            self.metadata.row_group(i).column(self.leaves[arrow.ESCAPED]).statistics for i in range(len(self.groups))
        ]
        return any(one is None or one.null_count < self.groups[i].rows for i, one in enumerate(found))

    def sound(self) -> bool:
        """Does every byte hold?"""
        with open(self.path, "rb") as file:
            if file.read(4) != b"PAR1" and not any(damage.offset == 0 for damage in self.damage):
                self.damage.append(Damage(self.path, 0, 4, "this is not how a Parquet file begins"))
        return self.metadata is not None and all([self.holds(i) for i in range(len(self.groups))]) and not self.damage

    def read(self, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None) -> pa.Table:
        """The rows of some row groups, or of all, without those that do not hold."""
        wanted = [i for i in (range(len(self.groups)) if groups is None else groups) if self.holds(i)]
        names = columns if columns is None else [name for name in columns if name in self.columns]
        return self._file.read_row_groups(wanted, columns=names, use_threads=len(wanted) > 1)

    def groups_of_steps(self, steps: Sequence[int]) -> list[int]:
        """Row groups that may hold one of these steps."""
        wanted, (lo, hi) = np.sort(np.asarray(steps, np.int64)), self._step_ranges
        found: list[int] = np.flatnonzero(
            np.searchsorted(wanted, hi, "right") > np.searchsorted(wanted, lo, "left")
        ).tolist()
        return found

    @cached_property
    def _step_ranges(self) -> tuple[Ints, Ints]:
        """Lowest and highest step of each row group; any step where they are not known."""
        known = [group.step_lo is not None and group.step_hi is not None for group in self.groups]
        pairs = [
            (g.step_lo, g.step_hi) if k else (-(2**63), 2**63 - 1) for g, k in zip(self.groups, known, strict=True)
        ]
        lo, hi = np.array(pairs, np.int64).reshape(-1, 2).T
        return lo, hi

    def groups_of_rows(self, lo: int, hi: int) -> range:
        """Row groups that hold the rows [lo, hi)."""
        return range(int(np.searchsorted(self.starts, lo, "right")) - 1, int(np.searchsorted(self.starts, hi, "left")))


@lru_cache(maxsize=96)  # row groups of 65,536 rows: about 150 MB
def _plain(file: File, group: int) -> Summaries | None:
    found = file.read(metric_table.FEW, [group])
    return Summaries.plain(*(arrow.numbers(found[name]) for name in ("step", "time_ns", "value"))) if len(found) else None


@lru_cache(
    maxsize=4
)  # names beside each other are asked for one after the other, and decoding a row group with its states takes 25 ms
def _kept(file: File, group: int) -> pa.Table:
    return file.read(WITH_STATE, [group])


class Sealed:
    def __init__(self, path: str, words: Words) -> None:
        self.path, self.words = path, words
        self.facts, self._damage = manifest.read(path)
        self.sources: dict[str, int] = self.facts["sources"]
        self.files = {
            name: File(os.path.join(path, name), facts, os.path.join(path, name + ".footer"))
            for name, facts in self.facts["files"].items()
        }
        extent = self.facts["extent"]
        self.extent = Extent(
            {int(a): s for a, s in extent["first"].items()}, extent["last_step"], extent["lo_ns"], extent["hi_ns"]
        )

    @property
    def damage(self) -> list[Damage]:
        """What does not hold, of this set and of the logs it was made from."""
        before = [Damage(os.path.join(os.path.dirname(self.path), file), *rest) for file, *rest in self.facts["damage"]]
        return before + self._damage + [damage for file in self.files.values() for damage in file.damage]

    def verify(self) -> list[Damage]:
        """Read every byte of the set; what does not hold."""
        for file in self.files.values():
            file.sound()
        for name in self.facts["sidecars"]:
            self._raw(name)
        self._damage += [damage for damage in manifest.check(self.path) if damage not in self._damage]
        return self.damage

    def sound(self) -> bool:
        """Does every row hold?"""
        return all([file.sound() for file in self.files.values()])

    def table(
        self, name: str, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
    ) -> pa.Table | None:
        """The narrow part of a table."""
        file = self.files.get(f"{name}.parquet")
        return None if file is None else file.read(columns, groups)

    def sidecar(self, name: str) -> pa.Table | None:
        """A sidecar, if it is there and holds."""
        raw = self._raw(name) if name in self.facts["sidecars"] else None
        return None if raw is None else pa.ipc.open_file(pa.py_buffer(raw)).read_all()

    def _raw(self, name: str) -> bytes | None:
        facts, path = self.facts["sidecars"][name], os.path.join(self.path, name)
        with open(path, "rb") as file:
            raw = file.read()
        if zlib.crc32(raw) == facts["crc"]:
            return raw
        damage = Damage(
            path, 0, facts["size"], "the sidecar does not hold its checksum; what it summarises is read instead"
        )
        self._damage += [] if damage in self._damage else [damage]
        return None

    @cached_property
    def names(self) -> dict[str, int]:
        """Name -> its place in the columns of `about`."""
        texts = self.about["name"].to_pylist() if self.about is not None else []
        for i in np.flatnonzero(arrow.numbers(self.about["escaped"])) if texts else ():
            texts[i] = arrow.unescape(texts[i])
        return {name: i for i, name in enumerate(texts)}

    @cached_property
    def about(self) -> Any:
        return self._about()

    def _about(self) -> pa.Table | None:
        found = self.sidecar("names.arrow")
        if found is None and "metrics.parquet" in self.files:
            from . import name_table

            found = self._placed(name_table.tables(self._everything(), self.words)["names"])
        return found

    def _placed(self, found: pa.Table) -> pa.Table:
        """A names table made of the rows that hold, with the places they have in the file: row groups between them may be lost."""
        file = self.files["metrics.parquet"]
        held = [np.arange(file.starts[i], file.starts[i + 1]) for i in range(len(file.groups)) if file.holds(i)]
        at = np.concatenate([np.empty(0, np.int64), *held])
        row = arrow.numbers(found["row"])
        first, last = at[row], at[row + arrow.numbers(found["rows"]) - 1]
        for name, values in (("row", first), ("rows", last - first + 1)):
            found = found.set_column(found.column_names.index(name), name, pa.array(values))
        return found

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The numeric columns of the names table."""
        return {
            name: arrow.numbers(self.about[name])
            for name in self.about.column_names
            if name not in ("name", "kind", "writer")
        }

    @cached_property
    def ids(self) -> pa.Table:
        """Hashed ids of the samples, in order, with their rows."""
        found = self.sidecar("ids.arrow")
        return (
            found
            if found is not None
            else sample_ids.index(sample_ids.hashes(self.files["samples.parquet"].read(["id"])["id"].to_pylist()))
        )

    @cached_property
    def turns(self) -> tuple[pa.Array, Ints, Ints]:
        """Whose turns there are, and of each row that holds whose it is (a place among them) and its number."""
        file = self.files["turns.parquet"]
        held = [group for group in range(len(file.groups)) if file.holds(group)]
        column = file.read(["sample"], held)["sample"].combine_chunks().dictionary_encode()
        rows = [np.arange(file.starts[group], file.starts[group + 1]) for group in held]
        return (
            column.dictionary,
            np.asarray(column.indices.fill_null(-1)),
            np.concatenate([np.empty(0, np.int64), *rows]),
        )

    @cached_property
    def hashes(self) -> sample_ids.Hashes:
        """The same without their rows."""
        found: sample_ids.Hashes = arrow.filled(self.ids["hash"], 0)
        return found

    @cached_property
    def _prefixes(self) -> NDArray[np.uint32] | None:
        raw = self._raw("ids.prefix") if "ids.prefix" in self.facts["sidecars"] else None
        return None if raw is None else np.frombuffer(raw, "<u4")

    def has(self, asked: sample_ids.Hashes) -> NDArray[np.bool_]:
        """Which of these ids it has samples of. That it has none of them is seen without reading them all."""
        known = None if "hashes" in self.__dict__ else self._prefixes
        if known is not None and not sample_ids.among(known, sample_ids.prefixes(asked)).any():
            return np.zeros(len(asked), bool)
        return sample_ids.among(self.hashes, asked)

    def steps_of(self, table: str) -> dict[int, int]:
        """Steps of a table, with how many rows each has."""
        if table not in self._steps:
            steps = (
                self.files[f"{table}.parquet"].read(["step"])["step"].drop_null().value_counts()
                if f"{table}.parquet" in self.files
                else None
            )
            pairs = (
                zip(steps.field("values").tolist(), steps.field("counts").tolist(), strict=True)
                if steps is not None
                else ()
            )
            self._steps[table] = dict(pairs)
        return self._steps[table]

    @cached_property
    def _steps(self) -> dict[str, dict[int, int]]:
        return {}

    @cached_property
    def rollup(self) -> pa.Table | None:
        """Sample statistics of this set's steps."""
        return self.sidecar("rollup.arrow")

    def blocks(self, level: int) -> Summaries | None:
        """A level of the pyramid, over all names end to end."""
        if level not in self._levels:
            stored = self.sidecar(f"pyramid_{level}.arrow")
            self._levels[level] = None if stored is None else blocks_of(stored)
        return self._levels[level]

    @cached_property
    def _levels(self) -> dict[int, Summaries | None]:
        return {}

    def rows(self, name: str) -> Rows:
        """What was logged under a name."""
        place = self.names.get(name)
        if place is None:
            return Rows.empty()
        lo = int(self.columns["row"][place])
        hi = lo + int(self.columns["rows"][place])
        plain = self.columns["plain"][place]
        one = plain and self.columns["one"][place]
        if not plain:
            return Rows.join(
                [metric_table.rows(found, self.words) for found in self._tables_of(lo, hi, WITH_STATE, _kept)]
            )
        found = self._tables_of(lo, hi, metric_table.FEW if one else metric_table.READ)
        return Rows.join(
            [self._alike(table, place) if one else metric_table.rows(table, self.words) for table in found]
        )

    def _alike(self, found: pa.Table, place: int) -> Rows:
        """Rows that have all but step, time and value in common."""
        n, c = len(found), self.columns
        return Rows(
            step=arrow.numbers(found["step"]),
            time_ns=arrow.numbers(found["time_ns"]),
            value=arrow.numbers(found["value"]),
            weight=np.full(n, np.nan),
            kind=np.full(n, self.words.code(self.about["kind"][place].as_py()), np.int32),
            writer=np.full(n, self.words.code(self.about["writer"][place].as_py()), np.int32),
            seq=np.full(n, c["seq"][place]),
            rank=np.full(n, c["rank"][place]),
            attempt=np.full(n, c["attempt"][place]),
            scope=np.zeros(n, np.int32),
            state=States.none(n),
        )

    def points(self, place: int) -> Points:
        """The merged series of a name that is whole in this set."""
        return merge(self.rows(self._listed[place]).unscoped(), self.words, {})

    @cached_property
    def _listed(self) -> list[str]:
        return list(self.names)

    def plain_blocks(self, group: int) -> Summaries | None:
        """The rows of a row group as plain numbers, None when it does not hold. A screen is asked for again and again, at every zoom: the latest are kept."""
        return _plain(self.files["metrics.parquet"], group)

    def some_names(self, lo: int, hi: int) -> NamedRows:
        """All rows of the names from place `lo` to before `hi`."""
        first, counts = self.columns["row"][lo:hi], self.columns["rows"][lo:hi]
        parts = self._tables_of(int(first[0]), int(first[-1] + counts[-1]), WITH_STATE)
        rows = Rows.join([metric_table.rows(part, self.words) for part in parts])
        return NamedRows(self._listed[lo:hi], np.repeat(np.arange(hi - lo, dtype=np.int32), counts), rows)

    def _tables_of(
        self, lo: int, hi: int, columns: tuple[str, ...], decoded: Decoded | None = None
    ) -> Iterator[pa.Table]:
        """The metric rows [lo, hi), row group by row group, without those that do not hold."""
        file = self.files["metrics.parquet"]
        for group in file.groups_of_rows(lo, hi):
            found = decoded(file, group) if decoded else file.read(columns, [group])
            if len(found):
                start = int(file.starts[group])
                yield found.slice(max(lo - start, 0), min(hi, start + len(found)) - max(lo, start))

    def _everything(self) -> NamedRows:
        """All metric rows of the set, when it is not known which names it has."""
        found = self.files["metrics.parquet"].read((*metric_table.READ, "state", "name", arrow.ESCAPED))
        if found[arrow.ESCAPED].null_count < len(found):
            return _unescaped(found, self.words)
        codes: dict[str, int] = {}
        parts = [np.empty(0, np.int32)]
        for chunk in found["name"].chunks:
            own = np.array([codes.setdefault(name, len(codes)) for name in chunk.dictionary.to_pylist()], np.int32)
            parts.append(own[chunk.indices.to_numpy()])
        return NamedRows(list(codes), np.concatenate(parts), metric_table.rows(found, self.words))


def _unescaped(found: pa.Table, words: Words) -> NamedRows:
    codes: dict[str, int] = {}
    texts = (
        arrow.unescape(text) if flag else text
        for text, flag in zip(found["name"].to_pylist(), found[arrow.ESCAPED].to_pylist(), strict=True)
    )
    name = np.array([codes.setdefault(text, len(codes)) for text in texts], np.int32)
    return NamedRows(list(codes), name, metric_table.rows(found, words))
