"""The stand-in for a tracker's table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any


class Table:
    """Rows under columns. A table of generated text becomes samples, any other one a file."""

    MAX_ROWS, MAX_ARTIFACT_ROWS = 10_000, 200_000  # of W&B; here a table is kept whole

    def __init__(
        self,
        columns: Sequence[Any] | None = None,
        data: Any = None,
        rows: Any = None,
        dataframe: Any = None,
        **_: Any,
    ) -> None:
        frame = data if hasattr(data, "columns") and hasattr(data, "values") else dataframe
        if frame is not None:
            columns, data = list(frame.columns), frame.values.tolist()
        found = data if data is not None else rows
        self.data = [list(row) for row in (found if found is not None else [])]
        width = max(map(len, self.data), default=0)
        default = ["Input", "Output", "Expected"] if not width else [str(i) for i in range(width)]
        self.columns: list[Any] = list(columns) if columns is not None else default

    def add_data(self, *row: Any) -> None:
        self.data.append(list(row))

    def add_row(self, *row: Any) -> None:
        self.add_data(*(row[0] if len(row) == 1 and isinstance(row[0], list | tuple) else row))

    def add_column(self, name: Any, data: Any, optional: bool = False) -> None:
        self.columns.append(name)
        values = list(data)
        if not self.data:
            self.data = [[] for _ in values]
        for row, value in zip(self.data, values, strict=False):
            row.append(value)

    def get_column(self, name: Any, convert_to: str | None = None) -> Any:
        at = self.columns.index(name)
        values = [row[at] for row in self.data]
        if convert_to != "numpy":
            return values
        import numpy as np

        return np.array(values)

    def add_computed_columns(self, fn: Callable[[int, dict[Any, Any]], Mapping[Any, Any]]) -> None:
        """Add columns that a function makes of each row."""
        names = list(self.columns)
        found = [fn(i, dict(zip(names, row, strict=False))) for i, row in enumerate(self.data)]
        for name in found[0] if found else ():
            self.add_column(name, [one[name] for one in found])

    def get_dataframe(self) -> Any:
        import pandas  # type: ignore[import-untyped, unused-ignore]

        return pandas.DataFrame(self.data, columns=self.columns)

    def get_index(self) -> list[int]:
        return list(range(len(self.data)))

    def cast(self, *_: Any, **__: Any) -> None:
        """A column has no type here."""

    def iterrows(self) -> Iterator[tuple[int, list[Any]]]:
        yield from enumerate(self.data)

    def __len__(self) -> int:
        return len(self.data)
