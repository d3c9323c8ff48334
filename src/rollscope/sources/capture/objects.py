"""Record what a program logs beside numbers: tables, pictures, histograms, texts, lists."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rollscope.catalog.partials.histogram import Histogram as Partial
from rollscope.sources.capture.stand_in.anything import Anything
from rollscope.sources.capture.stand_in.media import Histogram, Image, Media, Plotly, array
from rollscope.sources.dumps.traces import trace
from rollscope.sources.intake.grown import Grown
from rollscope.sources.intake.tables import samples
from rollscope.sources.live.quiet import print_once, quiet

LONGEST_TEXT = 10_000  # characters of a text that a note keeps
MOST_VALUES = 4_000_000  # of a histogram


class Objects:
    """The objects of one run."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self._tables = Grown()
        self._texts: dict[str, str] = {}  # name -> the text that was noted last

    def record(self, values: Mapping[str, Any], step: int) -> None:
        for name, value in values.items():
            if value is not None:
                self._one(name, value, step)

    @quiet
    def _one(self, name: str, value: Any, step: int) -> None:
        if isinstance(value, str):
            self._text(name, value, step)
        elif isinstance(value, Anything):
            print_once(f"rollscope: {name!r} holds an object that has no stand-in; it is not recorded")
        elif _is_table(value):
            self._table(name, value, step)
        elif traces := _traces(value):
            read = [trace(one.messages, one.metadata, f"{name}/{step}/{i}", step, 0) for i, one in enumerate(traces)]
            self._run.log_samples([one for one in read if one is not None], step=step)
        elif isinstance(value, Histogram):
            self._histogram(name, value.values(), step)
        elif (media := _media(value)) is not None:
            for i, one in enumerate(media):
                self._media(name, one, step, i)
        elif (several := _numbers(value)) is not None:
            self._histogram(name, several, step)
        else:
            print_once(f"rollscope: {name!r} holds a {type(value).__name__}; it is not recorded")

    def _text(self, name: str, text: str, step: int) -> None:
        if self._texts.get(name) != text:
            self._texts[name] = text
            self._run.note(f"{name}: {text[:LONGEST_TEXT]}", step=step)

    def _histogram(self, name: str, values: np.ndarray[Any, Any], step: int) -> None:
        if values.size > MOST_VALUES:
            print_once(f"rollscope: {name!r} has {values.size:,} values, more than {MOST_VALUES:,}; not recorded")
        elif values.size:
            self._run.log({name: Partial.of(values[np.isfinite(values)])}, step=step)

    def _table(self, name: str, table: Any, step: int) -> None:
        """A table of generated text is samples; any other one is a file."""
        columns = [str(column) for column in table.columns]
        first = self._tables.first_new(name, columns, table.data)
        cells = [
            [self._cell(name, cell, step, f"{r}-{c}") for c, cell in enumerate(row)]
            for r, row in enumerate(table.data[first:], first)
        ]
        generated = list(samples(columns, cells, f"{name}/{step}", step, 0, first))
        if generated:
            self._run.log_samples(generated, step=step)
        if generated or first:
            return
        content = json.dumps({"columns": columns, "data": cells}, default=str, ensure_ascii=False)
        path = self._stem(name, step, 0).with_suffix(".table.json")
        path.write_text(content, encoding="utf-8")
        self._kept(name, "table", path, step, None)

    def _cell(self, name: str, cell: Any, step: int, at: str) -> Any:
        if isinstance(cell, Media):
            return str(self._saved(cell, self._stem(f"{name}-{at}", step, 0)))
        return cell.item() if isinstance(cell, np.generic) else cell

    def _media(self, name: str, media: Media, step: int, i: int) -> None:
        try:
            path = media.save(self._stem(name, step, i))
        except ImportError as error:
            print_once(f"rollscope: {name!r} is a {media.kind} that needs {error.name}; install it to keep such files")
            return
        self._kept(name, media.kind, path, step, media.caption)

    def _saved(self, media: Media, stem: Path) -> Path | None:
        try:
            return media.save(stem).relative_to(self._run.folder)
        except (ImportError, OSError, ValueError) as error:
            print_once(f"rollscope: a {media.kind} in a table is not kept ({error})")
            return None

    def _kept(self, name: str, kind: str, path: Path, step: int, caption: str | None) -> None:
        inside = str(path.relative_to(self._run.folder))
        words = f"{name}: {caption}" if caption else name
        self._run.note(f"{words} ({inside})", step=step, kind="media", media=[{"kind": kind, "path": inside}])

    def _stem(self, name: str, step: int, i: int) -> Path:
        """Where a file of this name and step lies, without its suffix: a name is never a path."""
        folder: Path = self._run.folder / "media"
        folder.mkdir(parents=True, exist_ok=True)
        safe = re.sub(r"[^\w-]+", "_", name).strip("_")[:100] or "media"
        return folder / f"{safe}_{step}_{i}"


def _is_table(value: Any) -> bool:
    return isinstance(getattr(value, "columns", None), list) and isinstance(getattr(value, "data", None), list)


def _traces(value: Any) -> list[Any]:
    """The traces in a value: one, or a list of them."""
    listed = value if isinstance(value, list | tuple) else [value]
    is_good = all(isinstance(getattr(one, "messages", None), list) and hasattr(one, "metadata") for one in listed)
    return list(listed) if is_good else []


def _media(value: Any) -> list[Media] | None:
    """The media in a value: one, a list of them, or a figure."""
    if isinstance(value, Media):
        return [value]
    if isinstance(value, list | tuple) and value and all(isinstance(one, Media) for one in value):
        return list(value)
    if hasattr(value, "savefig"):
        return [Image(value)]
    return [Plotly(value)] if hasattr(value, "to_plotly_json") else None


def _numbers(value: Any) -> np.ndarray[Any, Any] | None:
    """The numbers of an array, a tensor or a list; None if it is something else."""
    if not isinstance(value, list | tuple) and not hasattr(value, "shape"):
        return None
    found = array(value)
    return found.astype(np.float64).ravel() if found.dtype.kind in "biuf" else None
