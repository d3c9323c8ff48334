"""One Parquet file of a sealed set. Row groups that fail their checksum are left out."""

from __future__ import annotations

import io
import os
import threading
import zlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rollscope.errors import CorruptFile
from rollscope.store import arrow, regular_file
from rollscope.store.lazy import LazyModule
from rollscope.store.live import paged
from rollscope.store.log.frame import Damage
from rollscope.store.numbers.rows import Ints
from rollscope.store.numbers.step_marks import StepMarks

from . import checksum, elsewhere, foreign, handles, manifest

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from . import parquet
else:  # summaries need no Parquet, and importing its reader takes longer than most answers
    pq, parquet = LazyModule("pyarrow.parquet"), LazyModule("rollscope.store.sealed.parquet")

UNCHECKED, PASSED, FAILED = 0, 1, 2


class SealedFile:
    def __init__(self, path: str, facts: dict[str, Any], footer_copy: str) -> None:
        self.path, self.rows, self._footer_copy = path, int(facts["rows"]), footer_copy
        self.groups = [checksum.Group(*group) for group in facts["groups"]]
        self.starts = np.cumsum([0, *(group.rows for group in self.groups)])
        self.table = os.path.basename(path).split(".")[0]
        self.damage: list[Damage] = []
        self._facts = facts
        self._checked = [UNCHECKED] * len(self.groups)
        self._lock = threading.Lock()

    @cached_property
    def metadata(self) -> pq.FileMetaData:
        """The footer, or its copy if it fails its checksum."""
        return pq.read_metadata(io.BytesIO(self._footer))

    @cached_property
    def _footer(self) -> bytes:
        """The footer as a Parquet file without rows."""
        offset, length, crc = self._facts["footer"]
        raw = self._bytes(offset, length)
        if raw is None or zlib.crc32(raw) != crc or os.path.getsize(self.path) != self._facts["size"]:
            self.damage.append(Damage(self.path, offset, length, "the footer fails its checksum; its copy is used"))
            raw = self._copied_footer(length)
        return b"PAR1" + raw

    def _copied_footer(self, length: int) -> bytes:
        try:
            return elsewhere.read(self._footer_copy, length)
        except OSError as error:
            if not manifest.is_lost(error, self._footer_copy):
                raise
            raise CorruptFile(f"{self.path}: neither the footer nor its copy can be read") from error

    def _bytes(self, offset: int, length: int) -> bytes | None:
        """Some bytes of the file; None if it cannot be read, which is noted once as damage."""
        try:
            with elsewhere.opened(self.path) as file:
                return os.pread(file.fileno(), length, offset)
        except OSError as error:
            self._note(error)
            return None

    def _note(self, error: OSError) -> None:
        """Note that the file cannot be read. Raises an error that the next try may not have."""
        if not manifest.is_lost(error, self.path):
            raise error
        damage = Damage(self.path, 0, self._facts["size"], f"it cannot be read ({regular_file.why(error)})")
        with self._lock:
            self.damage += [] if damage in self.damage else [damage]

    def without_rows(self) -> pq.ParquetFile:
        """The file's schema with no rows; the file itself is not opened."""
        return self.opened(io.BytesIO(self._footer))

    def opened(self, source: str | io.BytesIO, words: Sequence[str] | None = None) -> pq.ParquetFile:
        """The file; `words` are columns that come as numbers into a dictionary, not as texts."""
        if words is None:
            words = parquet.METRIC_WORDS if self.table == "metrics" else ()
        stored = [word for word in words if word in self.leaves]
        return pq.ParquetFile(source, metadata=self.metadata, pre_buffer=False, read_dictionary=stored or None)

    # ---- checking

    def passes(self, group: int) -> bool:
        """True if a row group passes its checksum. Checked once; several threads may ask."""
        if self._checked[group] == UNCHECKED:
            facts = self.groups[group]
            good = self._crc(facts) == facts.crc
            with self._lock:
                if self._checked[group] == UNCHECKED and not good:
                    says = f"row group {group} ({facts.rows} rows) fails its checksum"
                    self.damage.append(Damage(self.path, facts.offset, facts.length, says))
                self._checked[group] = PASSED if good else FAILED
        return self._checked[group] == PASSED

    def _crc(self, group: checksum.Group) -> int | None:
        try:
            with elsewhere.opened(self.path) as file:
                return checksum.of_range(file.fileno(), group.offset, group.length)
        except OSError as error:
            self._note(error)
            return None

    def passing(self) -> list[int]:
        """The row groups that pass their checksum."""
        return [group for group in range(len(self.groups)) if self.passes(group)]

    def is_sound(self) -> bool:
        """True if every byte of the file is as it was sealed."""
        if self._bytes(0, 4) != b"PAR1" and not any(damage.offset == 0 for damage in self.damage):
            self.damage.append(Damage(self.path, 0, 4, "this is not how a Parquet file begins"))
        sound = self.metadata is not None and len(self.passing()) == len(self.groups)
        return sound and not self.is_foreign and not self.damage

    # ---- columns

    @cached_property
    def columns(self) -> set[str]:
        return set(self._kinds.names)

    @cached_property
    def _kinds(self) -> pa.Schema:
        return self.metadata.schema.to_arrow_schema()

    @cached_property
    def leaves(self) -> dict[str, int]:
        """Column path -> its number in the file."""
        return {self.metadata.schema.column(i).path: i for i in range(self.metadata.num_columns)}

    @cached_property
    def may_have_escapes(self) -> bool:
        """False if no row has an escaped text, as far as the statistics tell."""
        if arrow.ESCAPED not in self.columns:
            return False
        leaf, groups = self.leaves[arrow.ESCAPED], range(len(self.groups))
        statistics = [self.metadata.row_group(i).column(leaf).statistics for i in groups]
        return any(one is None or one.null_count < self.groups[i].rows for i, one in enumerate(statistics))

    # ---- rows

    def read(self, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None) -> pa.Table:
        """The rows of some row groups, or of all, without row groups that fail their checksum."""
        wanted = self.passing() if groups is None else [i for i in groups if self.passes(i)]
        names = columns if columns is None else [name for name in columns if name in self.columns]
        file = handles.parquet(self) if wanted else self.without_rows()
        rows = file.read_row_groups(wanted, columns=names, use_threads=len(wanted) > 1)
        return foreign.conformed(rows, self.table, columns) if self.is_foreign else rows

    def read_coded(self, columns: Sequence[str]) -> pa.Table:
        """Columns of all rows, with words as dictionaries where this is a file of ours."""
        if self.is_foreign:
            return self.read(columns)
        elsewhere.check(self.path)
        groups, names = self.passing(), [name for name in columns if name in self.columns]
        file = self.opened(self.path, parquet.WORDS) if groups else self.without_rows()
        return file.read_row_groups(groups, columns=names, use_threads=True)

    @cached_property
    def is_foreign(self) -> bool:
        """True if another program wrote the file: a column has another type, or a key is missing.

        Columns that cannot be read as what they should be are noted as damage.
        """
        kinds = self._kinds
        damage = [Damage(self.path, 0, self._facts["size"], says) for says in foreign.unusable(kinds, self.table)]
        with self._lock:
            self.damage += damage
        return not foreign.is_ours(kinds, self.table)

    def count_by_step(self) -> StepMarks:
        """The number of rows of each step."""
        counts = self.read(["step"])["step"].drop_null().value_counts()
        steps, rows = (arrow.filled(counts.field(name), 0) for name in ("values", "counts"))
        order = np.argsort(steps, kind="stable")
        return StepMarks(*paged.arrays([steps[order], rows[order]]))

    def row_numbers(self, groups: Sequence[int]) -> Ints:
        """The numbers of all rows of some row groups."""
        parts = [np.arange(self.starts[group], self.starts[group + 1]) for group in groups]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def groups_of_steps(self, steps: Sequence[int]) -> list[int]:
        """Row groups that may have a row of one of these steps."""
        wanted, (lo, hi) = np.sort(np.asarray(steps, np.int64)), self._step_ranges
        may = np.searchsorted(wanted, hi, "right") > np.searchsorted(wanted, lo, "left")
        groups: list[int] = np.flatnonzero(may).tolist()
        return groups

    @cached_property
    def _step_ranges(self) -> tuple[Ints, Ints]:
        """Lowest and highest step of each row group; if unknown, any step."""
        lows = [-(2**63) if g.step_lo is None or g.step_hi is None else g.step_lo for g in self.groups]
        highs = [2**63 - 1 if g.step_lo is None or g.step_hi is None else g.step_hi for g in self.groups]
        return np.array(lows, np.int64), np.array(highs, np.int64)

    def groups_between(self, lo: int, hi: int) -> range:
        """Row groups that contain the rows [lo, hi)."""
        return range(int(np.searchsorted(self.starts, lo, "right")) - 1, int(np.searchsorted(self.starts, hi, "left")))

    def groups_of_rows(self, rows: Ints) -> list[int]:
        """Row groups that contain these rows, given by number."""
        groups: list[int] = np.unique(np.searchsorted(self.starts, rows, "right") - 1).tolist()
        return groups
