"""Search: every sample that contains the text, newest first, live and sealed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import rollscope as rs
from rollscope.errors import BadInput
from rollscope.store.seal import logs
from rollscope.store.sealed import parquet
from rollscope.store.text import phrase, search


def fill(world: Any) -> Any:
    w = world.writer()
    for step in range(6):
        texts = [
            f"step {step} says hello",
            "nothing here",
            f"Ünïcode needle{step} 🙂",
            "ends with nee",
            "dle begins here",
        ]
        w.rows(
            "samples",
            [{"id": f"{step}-{i}", "step": step, "prompt": "ask", "completion": text} for i, text in enumerate(texts)],
        )
        if step == 3:
            w.rotate()
    return w


def ids(world: Any, text: str, **more: Any) -> list[str]:
    return [hit.id for hit in rs.open(world.root).run().search(text, **more)]


@pytest.mark.parametrize("sealed", [False, True])
def test_hits_come_newest_first_and_none_runs_over_the_end_of_a_text(world: Any, sealed: bool) -> None:
    fill(world)
    if sealed:
        logs.seal(str(world.run))
    assert [hit.split("-")[0] for hit in ids(world, "hello")] == ["5", "4", "3", "2", "1", "0"]
    assert ids(world, "needle") == [f"{step}-2" for step in range(5, -1, -1)]
    assert ids(world, "needle3") == ["3-2"]
    assert ids(world, "no such thing") == []
    assert len(ids(world, "ask", columns=["prompt"])) == 30
    assert ids(world, "HELLO", ignore_case=True, limit=2) == ["5-0", "4-0"]
    assert ids(world, r"needle[12]\b", regex=True) == ["2-2", "1-2"]


def test_a_hit_shows_the_text_around_it(world: Any) -> None:
    world.writer().rows("samples", [{"id": "a", "step": 0, "completion": "x" * 500 + " needle " + "y" * 500}])
    (hit,) = rs.open(world.root).run().search("needle")
    assert (hit.step, hit.column) == (0, "completion")
    assert "needle" in hit.snippet and len(hit.snippet) < 200
    assert hit.snippet.startswith("…") and hit.snippet.endswith("…")


def test_closing_a_search_stops_its_threads(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "TEXT_ROWS", 1)  # many row groups: the search is far from done
    fill(world)
    logs.seal(str(world.run))
    hits = search.search(rs.open(world.root).run().folder, "hello")
    assert next(hits).id == "5-0"
    assert _search_threads()
    hits.close()
    assert not _search_threads()


def _search_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("rollscope-search")]


def test_odd_text_is_found_where_it_was_written(world: Any) -> None:
    world.writer().rows(
        "samples",
        [
            {"id": "a", "step": 0, "completion": "lone \ud800 needle \\ here"},
            {"id": "b", "step": 0, "completion": "nul\0needle"},
        ],
    )
    assert sorted(ids(world, "needle \\ here")) == ["a"]
    assert sorted(ids(world, "\0needle")) == ["b"]
    assert sorted(ids(world, "\ud800")) == ["a"]


def test_what_an_abandoned_attempt_wrote_is_not_found(world: Any) -> None:
    first, second = world.writer(1), world.writer(2, attempt=2)
    for step in range(4):
        first.metrics(step, {"a": 1.0})
        first.rows("samples", [{"id": f"old{step}", "step": step, "completion": "word"}])
    second.metrics(2, {"a": 1.0})
    second.rows("samples", [{"id": "new2", "step": 2, "completion": "word"}])
    for w in (first, second):
        w.finish()
    assert sorted(ids(world, "word")) == ["new2", "old0", "old1"]
    logs.seal(str(world.run))
    assert sorted(ids(world, "word")) == ["new2", "old0", "old1"]


def test_a_bad_search_is_rejected_with_a_sentence(world: Any) -> None:
    fill(world)
    with pytest.raises(BadInput, match="empty"):
        ids(world, "")
    with pytest.raises(BadInput, match="no text column"):
        ids(world, "x", columns=["reward"])
    with pytest.raises(BadInput, match="not a regular expression"):
        ids(world, "(", regex=True)


@pytest.mark.parametrize("every", [1, 40, 400])
def test_long_words_are_found_in_sealed_text_however_often_they_are_there(
    world: Any, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.setattr(parquet, "TEXT_ROWS", 20)
    w = world.writer()
    rows: list[dict[str, Any]] = [
        {"id": f"s{i}", "step": i // 10, "prompt": f"question {i // 100} of all", "completion": f"text {i} "}
        for i in range(1200)
    ]
    for i in range(7, 1200, every):
        rows[i]["completion"] += "serendipity" if i % 3 else "serendipity \\ \ud800"
    rows[33]["prompt"] = "once extraordinarily"
    w.rows("samples", rows)
    w.rotate()
    logs.seal(str(world.run))
    run = rs.open(world.root).run()
    expected = [f"s{i}" for i in range(1199, -1, -1) if "serendipity" in rows[i]["completion"]]
    assert [hit.id for hit in run.search("serendipity")] == expected
    assert [hit.id for hit in run.search("extraordinarily")] == ["s33"]
    assert [hit.id for hit in run.search("serendipity \\ \ud800")] == [
        f"s{i}" for i in range(1199, -1, -1) if "\ud800" in rows[i]["completion"]
    ]
    assert list(run.search("serendipity?")) == []


def test_a_damaged_row_group_of_text_is_left_out_of_a_search_and_reported(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "TEXT_ROWS", 20)
    w = world.writer()
    w.rows("samples", [{"id": f"s{i}", "step": i, "completion": f"serendipity {i}"} for i in range(100)])
    w.rotate()
    logs.seal(str(world.run))
    file = next(world.run.rglob("samples.text.parquet"))
    group = rs.open(world.root).run().folder.sets[0].files[file.name].groups[2]
    raw = bytearray(file.read_bytes())
    raw[group.offset + group.length // 2] ^= 4
    file.write_bytes(raw)
    run = rs.open(world.root).run()
    assert sorted(hit.step for hit in run.search("serendipity") if hit.step is not None) == [
        *range(40),
        *range(60, 100),
    ]
    assert [damage.path for damage in run.damage] == [str(file)]


def _hostile_rows(count: int) -> list[dict[str, Any]]:
    """Texts of few letters, empty, missing, and as long as a length byte that reads like a letter.

    There are too many prompts for a dictionary.
    """
    rng = np.random.default_rng(5)
    letters = ["a", "A", "b", "\0", "é", "É", "@", "`", "\u212a", "k", "\n", "aab", "\\"]
    rows: list[dict[str, Any]] = []
    for i in range(count):
        text = "".join(rng.choice(letters, rng.integers(0, 12))) if rng.random() < 0.9 else "b" * 97
        row = {
            "id": f"s{i}",
            "step": i // 10,
            "prompt": f"q{i % 3}" if i < count // 2 else f"q{i} " + "p" * 900,
            "completion": text,
        }
        rows.append({name: value for name, value in row.items() if name in ("id", "step") or rng.random() < 0.9})
    return rows


@pytest.mark.parametrize("pages", [1 << 20, 512])
def test_every_phrase_is_found_where_python_finds_it_in_sealed_text_and_in_a_live_log(
    world: Any, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    options = parquet._text_options()
    monkeypatch.setattr(
        parquet,
        "_text_options",
        lambda: options | {"data_page_size": pages, "write_batch_size": 10, "dictionary_pagesize_limit": 4096},
    )
    monkeypatch.setattr(parquet, "TEXT_ROWS", 150)
    monkeypatch.setattr(phrase, "CHUNK", 101)
    rows = _hostile_rows(1000)
    w = world.writer()
    w.rows("samples", rows)
    w.rotate()
    rng = np.random.default_rng(6)
    texts = [row["completion"] for row in rows if row.get("completion")]
    cut = [
        (one := texts[rng.integers(len(texts))])[(at := rng.integers(len(one))) : at + rng.integers(1, 5)]
        for _ in range(60)
    ]
    phrases = {*cut, "\0\0", "a\0\0\0", "q1", "q7 p", "b" * 97, "b" * 98, "K", "q999"}
    run = rs.open(world.root).run()
    asked = [(text, fold) for text in phrases for fold in (False, True)]
    live = {(text, fold): [hit.id for hit in run.search(text, ignore_case=fold)] for text, fold in asked}
    logs.seal(str(world.run))
    run.refresh()
    for (text, fold), hits in live.items():
        expected = [
            row["id"]
            for row in reversed(rows)
            if any(_holds(row.get(column) or "", text, fold) for column in ("completion", "prompt"))
        ]
        assert hits == expected, (text, fold)
        assert [hit.id for hit in run.search(text, ignore_case=fold)] == expected, (text, fold)


def _holds(text: str, sought: str, fold: bool) -> bool:
    return sought.encode().lower() in text.encode().lower() if fold else sought in text  # bytes: of A to Z alone


@pytest.mark.parametrize("sealed", [False, True])
def test_a_regular_expression_is_held_to_each_text_by_itself(world: Any, sealed: bool) -> None:
    fill(world)
    if sealed:
        logs.seal(str(world.run))
    assert len(ids(world, "^step", regex=True)) == len(ids(world, "hello$", regex=True)) == 6
    assert ids(world, "^says", regex=True) == []
    assert len(ids(world, "x*", regex=True)) == 30
    assert ids(world, "(?<=says )hello(?! again)", regex=True, limit=1) == ["5-0"]


def test_threads_that_meet_at_a_damaged_row_group_report_it_once(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    w = world.writer()
    w.rows("samples", [{"id": f"s{i}", "step": i, "completion": f"serendipity {i}"} for i in range(100)])
    w.rotate()
    logs.seal(str(world.run))
    file = next(world.run.rglob("samples.text.parquet"))
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 3] ^= 4
    file.write_bytes(raw)
    sealed = rs.open(world.root).run().folder.sets[0].files[file.name]
    start = threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(lambda _: start.wait() < 0 or sealed.passes(0), range(4)))
    assert len(sealed.damage) == 1
