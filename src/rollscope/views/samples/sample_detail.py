"""Everything about some samples: their columns, turns and per-token arrays, with long texts cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rollscope.errors import BadInput, NotFound
from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.store.tables import tables
from rollscope.views import nullable
from rollscope.views.let_go import let_go_of_sample

from .sample_export import turns
from .scans import scans_of_samples

TEXTS = ("prompt", "completion", "answer")
FIRST_CHARACTERS = 64_000  # of a text that come with the sample
ARRAYS = ("logp", "old_logp", "rollout_logp", "ref_logp", "entropy", "token_advantages")
DECIMALS = 4  # of a number per token: more than a colour shows
LEFT_OUT = ("token_ids", "run", "writer")
Row = dict[str, Any]


def sample_details(run: Run, ids: list[str]) -> list[Row]:
    """Samples by id, in this order, with their turns and the first part of each long text.

    `whole` gives the full length of each text. Unknown ids are left out.
    """
    rows = run.samples(ids=ids, as_arrow=True)
    lengths = {name: pc.fill_null(pc.utf8_length(rows[name]), 0).to_pylist() for name in TEXTS}
    columns = arrow.numpy(_cut(rows), tables.types("samples"))
    samples: dict[str, Row] = {}
    for i, id in enumerate(columns["id"]):
        samples[id] = {name: values[i] for name, values in columns.items()}
        samples[id]["whole"] = {name: lengths[name][i] for name in TEXTS}
    turns_of = turns(run, samples.values())
    said = scans_of_samples(run, {id: nullable.integer(row["step"]) for id, row in samples.items()})
    return [
        {
            **_json(samples[id], turns_of.get(id, [])),
            "scans": said[id],
            "let_go": let_go_of_sample(run, samples[id], turns_of.get(id, [])),
        }
        for id in ids
        if id in samples
    ]


def sample_detail(run: Run, id: str) -> Row:
    """Every column of one sample with its full texts and its turns."""
    sample, columns = run.sample(id), run.turns(id)
    count = len(next(iter(columns.values()))) if columns else 0
    rows = [{name: nullable.cell(values[i]) for name, values in columns.items()} for i in range(count)]
    said = scans_of_samples(run, {id: nullable.integer(sample["step"])})[id]
    more = {"turn_rows": rows, "scans": said, "let_go": let_go_of_sample(run, sample, rows)}
    return {**{name: nullable.cell(value) for name, value in sample.items()}, **more}


def rest_of_text(run: Run, id: str, field: str, start: int) -> str:
    """A text of a sample from a character on."""
    if field not in TEXTS:
        raise BadInput(f"a sample has no text {field!r}, only {', '.join(TEXTS)}")
    values = run.samples(ids=[id], columns=["id", field])[field]
    if not len(values):
        raise NotFound(f"no sample {id[:80]!r} in this run")
    return str(values[0] or "")[max(0, start) :]


def _cut(rows: pa.Table) -> pa.Table:
    """Cut long texts in Arrow, before Python holds them.

    Rows with escapes are left as they are, because a cut could fall inside an escape.
    """
    if rows[arrow.ESCAPED].null_count < len(rows):
        return rows
    for name in TEXTS:
        cut = pc.utf8_slice_codeunits(rows[name], 0, FIRST_CHARACTERS)
        rows = rows.set_column(rows.column_names.index(name), name, cut)
    return rows


def _json(row: Mapping[str, Any], turn_rows: list[Row]) -> Row:
    cells = {name: _cell(name, value) for name, value in row.items() if name not in LEFT_OUT}
    texts = {name: (cells[name] or "")[:FIRST_CHARACTERS] for name in TEXTS}
    rows = [{name: nullable.cell(value) for name, value in turn.items()} for turn in turn_rows]
    return {**cells, **texts, "turn_rows": rows}


def _cell(name: str, value: Any) -> Any:
    if name not in ARRAYS or value is None:
        return nullable.cell(value)
    return nullable.finite(np.round(np.asarray(value, np.float64), DECIMALS).tolist())
