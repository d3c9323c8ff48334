"""A column without a value is Arrow's own, however it is made."""

from __future__ import annotations

import pyarrow as pa
import pytest

from rollscope.store import arrow

KINDS = sorted({str(kind): kind for kind in [*arrow.TYPES.values(), pa.int32(), pa.bool_(), pa.string()]}.items())


@pytest.mark.parametrize(("name", "kind"), KINDS, ids=[name for name, _ in KINDS])
@pytest.mark.parametrize("count", [0, 1, 9, 1000])
def test_it_equals_a_column_of_arrow(name: str, kind: pa.DataType, count: int) -> None:
    mine = arrow.nulls(count, kind)
    mine.validate(full=True)
    assert mine.equals(pa.nulls(count, kind)) and mine.null_count == count
    assert mine.to_pylist() == [None] * count
    both = pa.chunked_array([mine, pa.nulls(count, kind)])
    assert both.combine_chunks().null_count == 2 * count
