"""Our text search beside pyarrow and DuckDB: complete searches of the same Parquet files.

All search the columns `completion` and `prompt` of the same sealed run, with two threads, and must
find the same samples. They take turns, so that a busy machine slows all of them alike. Run: python
bench/search.py [--keep DIR] [--gigabytes 0.5]
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import results
import rollscope as rs
import store_run
from rollscope.store.seal import compact, logs

COLUMNS = ("completion", "prompt")
THREADS = 2
SIZE = 500  # samples of a step, about 2.5 kB of text each
Search = Callable[[str, bool], set[str]]


def ours(run: Any) -> Search:
    return lambda phrase, ignore_case: {hit.id for hit in run.search(phrase, COLUMNS, ignore_case=ignore_case)}


def pyarrow_by_group(paths: list[str]) -> Search:
    """Decode row groups with two threads and match them, as our search does with pages."""
    groups = [(path, i) for path in paths for i in range(pq.read_metadata(path).num_row_groups)]
    opened = threading.local()  # a ParquetFile is not for two threads

    def in_group(path: str, group: int, phrase: str, ignore_case: bool) -> list[str]:
        if getattr(opened, "path", None) != path:
            opened.path, opened.file = path, pq.ParquetFile(path, pre_buffer=False)
        rows = opened.file.read_row_group(group, columns=["id", *COLUMNS], use_threads=False)
        keep = pc.or_(*(_matches(rows[name], phrase, ignore_case) for name in COLUMNS))
        return rows["id"].filter(keep).to_pylist()  # type: ignore[no-any-return]

    def search(phrase: str, ignore_case: bool) -> set[str]:
        with ThreadPoolExecutor(THREADS) as pool:
            parts = [pool.submit(in_group, *group, phrase, ignore_case) for group in groups]
            return {id for part in parts for id in part.result()}

    return search


def _matches(column: Any, phrase: str, ignore_case: bool) -> Any:
    return pc.fill_null(pc.match_substring(column, phrase, ignore_case=ignore_case), False)


def pyarrow_dataset(paths: list[str]) -> Search:
    """The same as a filter of a dataset."""
    dataset = ds.dataset(paths, format="parquet")

    def search(phrase: str, ignore_case: bool) -> set[str]:
        first, second = (pc.match_substring(ds.field(name), phrase, ignore_case=ignore_case) for name in COLUMNS)
        return set(dataset.to_table(columns=["id"], filter=first | second)["id"].to_pylist())

    return search


def duckdb_contains(paths: list[str]) -> Search:
    connection = duckdb.connect(":memory:", config={"threads": str(THREADS)})

    def search(phrase: str, ignore_case: bool) -> set[str]:
        texts = [f"lower({name})" if ignore_case else name for name in COLUMNS]
        where = " OR ".join(f"contains({text}, $phrase)" for text in texts)
        query = f"SELECT id FROM read_parquet($paths) WHERE {where}"
        parameters = {"phrase": phrase.lower() if ignore_case else phrase, "paths": paths}
        return {id for (id,) in connection.execute(query, parameters).fetchall()}

    return search


def measure(searches: dict[str, Search], ignore_case: bool, repeats: int) -> dict[str, list[float]]:
    """Seconds of each search, the first turn apart."""
    seconds: dict[str, list[float]] = {name: [] for name in searches}
    for turn in range(repeats + 1):
        hits = {}
        for name, search in searches.items():
            start = time.perf_counter()
            hits[name] = search("serendipity", ignore_case)
            if turn:
                seconds[name].append(time.perf_counter() - start)
        assert all(ids == hits["ours"] for ids in hits.values()), "the searches must agree"
        assert hits["ours"], "the phrase must be there"
    return seconds


def recorded(folder: Path, gigabytes: float) -> Path:
    run = folder / f"search-{gigabytes:g}"
    if not run.exists():
        store_run.samples(run, steps=int(gigabytes * 1e9 / 2_500 / SIZE), size=SIZE)
        logs.seal(str(run))
        compact.compact(str(run), everything=True)
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="folder for the run, used again next time (default: temporary)")
    parser.add_argument("--gigabytes", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    pa.set_cpu_count(THREADS)
    with tempfile.TemporaryDirectory() as folder:
        path = recorded(args.keep or Path(folder), args.gigabytes)
        rows = compared(path, args.repeats)
    results.show(rows)
    results.append(rows)


def compared(path: Path, repeats: int) -> list[dict[str, str]]:
    files = [str(file) for file in sorted(path.glob("*.sealed/samples.text.parquet"))]
    size = sum(_text_bytes(pq.read_metadata(file)) for file in files)
    searches = {
        "ours": ours(rs.open(path).run()),
        "pyarrow match_substring by row group": pyarrow_by_group(files),
        "pyarrow match_substring as a dataset filter": pyarrow_dataset(files),
        "DuckDB contains": duckdb_contains(files),
    }
    rows = []
    for ignore_case, words in ((False, ""), (True, ", ignoring case")):
        for name, seconds in measure(searches, ignore_case, repeats).items():
            what = f"search: {size / 1e9:.2g} GB of text{words}, {name}"
            rows.append(results.row(what, "s/GB", [s / size * 1e9 for s in seconds]))
    return rows


def _text_bytes(metadata: Any) -> int:
    return sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))


if __name__ == "__main__":
    main()
