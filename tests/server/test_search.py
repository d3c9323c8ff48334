"""Full-text search over a run: every hit, newest first, narrowed by filter words, and stopped."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create
from rollscope.server.library import Library
from rollscope.server.packed import unpack
from rollscope.server.routes.samples.search import _lines
from rollscope.store.seal.compact import compact
from rollscope.store.seal.logs import seal
from rollscope.views.samples.search import Narrow, Phrase
from tests.web.rollout_runs import STEPS

CONDITIONS = {  # filter words -> the same condition in SQL
    "reward<0.5": "reward < 0.5",
    "reward:0..1 env:tools": "reward between 0 and 1 and env = 'tools'",
    "stop=length": "stop_reason = 'length'",
    "format>=1": "json_extract(rewards, '$.format')::double >= 1",
    "rewards/equation=1 tokens>20": "json_extract(rewards, '$.equation')::double = 1 and completion_tokens > 20",
    'reason:"zero_adv"': "discard_reason = 'zero_advantage'",
    "accuracy<=0.5 group:g35.": (
        "json_extract(sample_metrics, '$.accuracy')::double <= 0.5 and \"group\" like 'g35.%'"
    ),
    "failures>0": "tool_failures > 0",
    "nothing>0": "false",
    'task:"[3, 7, 8]"': "task like '%[3, 7, 8]%'",
}


def search_words(client: TestClient, text: str, q: str, **more: Any) -> set[str]:
    return {hit["id"] for hit in search(client, text, q=q, limit=10_000, **more)[0]}


def test_a_search_is_narrowed_by_the_filter_words(rolls: TestClient, rolls_folder: Path) -> None:
    """Filter words select the same samples as the same condition in SQL."""
    run = rs.open(rolls_folder).run("rolls")
    contains = "completion like '%Let me try%'"
    for words, where in CONDITIONS.items():
        expected = set(run.samples(where=f"{contains} and {where}", columns=["id"])["id"])
        assert search_words(rolls, "let me try", words) == expected, words
        assert expected or words == "nothing>0", words
    dropped = set(run.samples(where=f"{contains} and not trained", columns=["id"])["id"])
    assert search_words(rolls, "let me try", "", fate="dropped") == dropped != set()
    calls = search_words(rolls, "division by zero", "id:s35.")
    assert calls == {"s35.2.0", "s35.2.3", "s35.2.6"}
    head, columns = unpack(rolls.get("/api/runs/rolls/rollouts?step=35").content)
    unequal = {head["ids"][i] for i in range(32) if columns["gini"][columns["group"][i]] > 0.05}
    assert search_words(rolls, "let me try", "gini>0.05 group:g35.") == unequal != set()


def search(client: TestClient, text: str, **more: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    reply = client.get("/api/runs/rolls/search", params={"text": text, **more})
    lines = [json.loads(line) for line in reply.text.splitlines()]
    return [line["hit"] for line in lines if "hit" in line], lines[-1]


def test_a_hit_in_an_evaluation_has_its_score(tmp_path: Path) -> None:
    with rs.init(project="p", id="both", dir=tmp_path, host=False) as run:
        rows = [
            {"id": "train", "split": "train", "completion": "hello", "score": 1.0},
            {"id": "eval", "split": "eval", "completion": "hello", "score": 0.25},
        ]
        run.log_samples(step=0, samples=rows)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        lines = [json.loads(line) for line in client.get("/api/runs/both/search?text=hello").text.splitlines()]
    rewards = {line["hit"]["id"]: line["hit"]["reward"] for line in lines if "hit" in line}
    assert rewards == {"train": None, "eval": 0.25}  # as the page shows them


def test_search_finds_every_sample_newest_first(rolls: TestClient) -> None:
    hits, end = search(rolls, "ANSWER 3: NO", limit=10_000)
    steps = [h["step"] for h in hits]
    assert steps == sorted(steps, reverse=True) and end["end"] and end["found"] == len(hits) > STEPS and not end["cut"]
    assert all(h["match"] == "Answer 3: no" for h in hits)
    assert search(rolls, "ANSWER 3: NO", case=True)[0] == []


def test_search_looks_into_turns_and_hostile_text(rolls: TestClient) -> None:
    hits, _ = search(rolls, "division by zero", limit=10_000)
    assert len(hits) == 3 * STEPS and {h["where"] for h in hits} == {"calculator"}
    assert [h["id"] for h in search(rolls, "xyzzy")[0]] == ["hostile-2"]
    assert {h["id"] for h in search(rolls, "<script>")[0]} == {"hostile-1", "hostile-2"}
    assert search(rolls, "100%_")[0] == []


def test_search_stops_at_its_limit(rolls: TestClient) -> None:
    hits, end = search(rolls, "Let me try", limit=5)
    assert len(hits) == 5 and end["cut"]
    assert rolls.get("/api/runs/rolls/search", params={"text": "  "}).status_code == 400


def test_a_search_that_is_closed_frees_its_slot(rolls_folder: Path) -> None:
    library = Library(str(rolls_folder))
    for _ in range(5):  # more than may run at once
        lines = _lines(library, "rolls", Phrase("Let me try"), 10_000, Narrow())
        assert "hit" in next(lines)
        lines.close()


def test_a_search_goes_on_when_compaction_removes_its_files(tmp_path: Path) -> None:
    for part in range(3):  # three sets, which compaction merges and then removes
        with rs.init(project="p", id="many", dir=tmp_path, resume="allow", host=False) as run:
            run.log_samples(step=part, samples=[{"id": f"{part}.{i}", "completion": f"hello {i}"} for i in range(700)])
    seal(str(tmp_path / "many"))
    library = Library(str(tmp_path))
    lines = _lines(library, "many", Phrase("hello"), 10_000, Narrow())
    first = next(lines)
    assert compact(str(tmp_path / "many"), everything=True)
    replies = [json.loads(line) for line in (first + "".join(lines)).splitlines()]
    hits = [reply["hit"]["id"] for reply in replies if "hit" in reply]
    assert len(hits) == len(set(hits)) == 2100
    assert replies[-1] == {"end": True, "found": 2100, "cut": False}


def test_a_search_that_is_not_read_to_its_end_makes_no_other_wait(rolls_folder: Path) -> None:
    library = Library(str(rolls_folder))

    def lines() -> Iterator[str]:
        return _lines(library, "rolls", Phrase("Let me try"), 10_000, Narrow())

    asleep = [lines() for _ in range(5)]
    assert all("hit" in next(one) for one in asleep)
    reading = threading.Thread(target=lambda: list(lines()), daemon=True)
    reading.start()
    reading.join(60)
    assert not reading.is_alive()
