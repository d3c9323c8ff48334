"""A hostile file ends with a sentence and harms neither the machine nor the files beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollscope.sources.sandbox.limits import MB, Limits
from tests.sources import bombs

LIMITS = Limits(memory=500 * MB, seconds=10, output=4 * MB, memory_factor=0, output_factor=0)

BOMBS: list[tuple[str, Callable[[Path], Path], str]] = [  # what it does, how it is made, words of the sentence
    ("a zip that unpacks to more", bombs.zip_of_zeros, "unpacks to more than"),
    ("a Parquet file of 400 GB", bombs.parquet_of_one_long_text, "its rows are more than"),
    ("a SQLite view without end", bombs.sqlite_endless_view, "not a format Rollscope knows"),
    ("a SQLite column that grows", bombs.sqlite_growing_column, "its rows are more than"),
    ("a DuckDB table of equal rows", bombs.duckdb_long_table, "of memory"),
    ("JSON that is nested deeply", bombs.deep, "not valid JSON"),
    ("a table of a million columns", bombs.wide_csv, "columns"),
    ("JSON that needs much memory", bombs.many_small_lists, "of memory"),
]


@pytest.mark.parametrize(("make", "words"), [pytest.param(make, words, id=id) for id, make, words in BOMBS])
def test_a_bomb_is_skipped_with_a_sentence_and_its_neighbours_are_imported(
    make: Callable[[Path], Path], words: str, tmp_path: Path, imported: Any
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    bomb = make(folder)
    for name in ("aaa.jsonl", "zzz.jsonl"):  # read before and after it
        (folder / name).write_text('{"step": 1, "loss": 0.5}\n')
    report = imported.take(folder, limits=LIMITS)
    (skipped,) = [item for item in report.skipped if item.path == bomb]
    assert words in skipped.why and "Please report" not in skipped.why, skipped
    neighbours = [id for id in imported.ids() if id.startswith(("aaa", "zzz"))]
    assert [imported.series("loss", id) for id in neighbours] == [{1: 0.5}] * 2
    assert sum(f.stat().st_size for f in imported.root.rglob("*") if f.is_file()) < 8 * MB


GOOD_PARTS: list[tuple[str, Callable[[Path], Path], str, dict[str, dict[int, float]]]] = [
    ("broken lengths before each record", bombs.event_file_of_broken_heads, "fails its checksum", {"loss": {1: 0.5}}),
    ("a line that is too long", bombs.long_line, "more than 64 MB", {"a": {1: 0.5, 2: 0.25}}),
    ("thousands of bad lines", bombs.many_bad_lines, "4,000 more parts", {"a": {1: 0.5, 2: 0.25}}),
    ("members with paths", bombs.zip_with_paths, "'../../outside.parquet' is not read", {"loss": {1: 0.5}}),
    ("triggers and views", bombs.sqlite_trigger, "", {"a": {1: 0.5}}),
]


@pytest.mark.parametrize(
    ("make", "words", "series"), [pytest.param(make, words, series, id=id) for id, make, words, series in GOOD_PARTS]
)
def test_the_good_parts_of_a_hostile_file_are_imported_in_little_time(
    make: Callable[[Path], Path], words: str, series: dict[str, dict[int, float]], tmp_path: Path, imported: Any
) -> None:
    report = imported.take(make(tmp_path), limits=LIMITS)
    assert any(words in item.why for item in report.skipped) or (not words and not report.skipped)
    for name, points in series.items():
        assert imported.series(name) == points


def test_thousands_of_names_take_linear_time(tmp_path: Path, imported: Any) -> None:
    report = imported.take(bombs.event_file_of_many_names(tmp_path), limits=LIMITS)
    assert not report.skipped and len(imported.names()) == 20_000


def test_a_tensor_that_repeats_one_value_costs_its_row(tmp_path: Path, imported: Any) -> None:
    report = imported.take(bombs.buffer_of_tensors(tmp_path), limits=LIMITS)
    (item,) = report.skipped
    assert "row 2" in item.why and "in a storage of 1" in item.why
    (sample,) = imported.table("samples")
    assert list(sample["rollout_logp"]) == [0.5] * 4


def test_rows_without_end_are_ended_by_the_clock(tmp_path: Path, imported: Any) -> None:
    report = imported.take(bombs.arrow_of_nothing(tmp_path), limits=Limits(seconds=1))
    assert "reading it takes more than" in report.skipped[-1].why and imported.ids() == []


SECRET = "correct horse battery staple"
VIEWS = {  # queries that reach out of the database
    "a file": "select content as run_id, content as name, '' as project, '' as config_json from read_text('{file}')",
    "a folder": "select file as run_id, file as name, '' as project, '' as config_json from glob('{folder}/*')",
    "no end": "with recursive n(i) as (select 1 union all select i + 1 from n) "
    "select i::text as run_id, '' as name, '' as project, '' as config_json from n",
}


@pytest.mark.parametrize("query", VIEWS.values(), ids=VIEWS)
def test_a_view_of_a_database_is_not_run(query: str, tmp_path: Path, imported: Any) -> None:
    secrets, folder = tmp_path / "secrets", tmp_path / "in"
    secrets.mkdir()
    folder.mkdir()
    (secrets / "passwords").write_text(SECRET)
    path = bombs.duckdb_view(folder, query.format(file=secrets / "passwords", folder=secrets))
    report = imported.take(path, limits=LIMITS)
    assert any("no table runs" in item.why for item in report.skipped)
    assert any("views are not read" in item.why and "runs" in item.why for item in report.skipped)
    kept = [f.name.encode() + f.read_bytes() for f in imported.root.rglob("*") if f.is_file()]
    assert not any(SECRET.encode() in data or b"passwords" in data for data in kept)


def test_what_was_read_before_a_limit_is_not_kept_and_never_comes_twice(tmp_path: Path, imported: Any) -> None:
    bomb = bombs.parquet_of_one_long_text(tmp_path)
    for _ in range(2):
        assert imported.take(bomb, limits=LIMITS).runs == {}
    assert imported.ids() == []
    report = imported.take(bombs.parquet_of_one_long_text(tmp_path, rows=2), limits=LIMITS)
    assert report.skipped == [] and len(imported.table("samples")) == 2


def test_an_ended_file_is_not_read_again_until_it_changes(tmp_path: Path, imported: Any) -> None:
    from rollscope.sources.intake.importer import Importer

    bomb = bombs.parquet_of_one_long_text(tmp_path)
    importer = Importer(imported.root, limits=LIMITS)
    try:
        first = importer.take([bomb])
        assert [item.why for item in importer.take([bomb]).skipped] == [item.why for item in first.skipped]
        bombs.parquet_of_one_long_text(tmp_path, rows=2)
        assert [run["rows"] for run in importer.take([bomb]).runs.values()] == [2]
    finally:
        importer.close()


def test_too_many_runs_in_one_file_are_refused(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "chart.csv"
    file.write_text("Step," + ",".join(f"run {i} - reward" for i in range(40)) + "\n" + "1," + ",".join(["2"] * 40))
    report = imported.take(file, limits=Limits(runs=30))
    assert "more than 30 runs" in report.skipped[0].why
    assert len(imported.take(file, limits=Limits(runs=40)).runs) == 40


def test_hundreds_of_runs_do_not_use_up_the_file_handles(tmp_path: Path, imported: Any) -> None:
    import resource

    for i in range(150):
        (tmp_path / f"{i}.jsonl").write_text('{"step": 1, "a": 0.5}\n')
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 100, old[1]))
    try:
        report = imported.take(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, old)
    assert report.skipped == [] and len(report.runs) == 150


@pytest.mark.parametrize("bad", ["not json\n", "[1]\n", "{\n", "\x00\n", "[" * 100_000 + "\n"], ids=repr)
def test_a_bad_first_line_costs_that_line(bad: str, tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(bad + '{"step": 1, "a": 0.5}\n')
    report = imported.take(file)
    assert imported.series("a") == {1: 0.5} and len(report.skipped) == 1 and report.skipped[0].offset == 0


def test_a_bad_first_line_does_not_hide_what_the_others_are(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "rollouts.jsonl"
    file.write_text('damaged\n{"prompt": "p", "completion": "c"}\n')
    imported.take(file)
    assert [sample["completion"] for sample in imported.table("samples")] == ["c"]


def test_a_file_that_grows_while_it_is_read_has_an_end(tmp_path: Path) -> None:
    from rollscope.sources.files.lines import lines

    file = tmp_path / "log.jsonl"
    file.write_bytes(b"{}\n" * 3)
    count = 0
    for _ in lines(file):
        count += 1
        with file.open("ab") as more:
            more.write(b"{}\n")
    assert count == 3


def test_a_name_that_is_too_long_is_reported_and_the_others_are_kept(tmp_path: Path, imported: Any) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps({"step": 1, "a": 0.5, "x" * 20_000: 1.0}) + "\n")
    report = imported.take(file)
    assert imported.names() == {"a"} and "a name of 20,000 characters" in report.skipped[0].why


def test_names_that_are_slow_to_look_up_do_not_stop_an_import(tmp_path: Path, imported: Any) -> None:
    """The catalogue writes notes about names of veRL; one of these once took minutes to match."""
    names = ["val-core/" + "/acc/mean@" * 2000, "val-core/" + "/" * 3000, "val-aux/" + "a/std@1/" * 900]
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps({"step": 1, "actor/pg_loss": 0.5, **dict.fromkeys(names, 1.0)}) + "\n")
    imported.take(file)
    assert imported.run().record()["framework"] == "verl" and "val-core/" + "/" * 3000 in imported.names()
