"""Exported samples read back as they were logged, and their Markdown has no markup from a model."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create
from rollscope.store import arrow
from rollscope.views.samples.sample_export import fenced


def test_export_of_the_selection(rolls: TestClient) -> None:
    ids = ["s35.2.1", "s35.0.0", "hostile-1"]

    def selected(format: str) -> Any:
        return rolls.post("/api/runs/rolls/export", json={"ids": ids, "format": format})

    lines = [json.loads(line) for line in selected("jsonl").text.splitlines()]
    assert [row["id"] for row in lines] == ids
    assert lines[1]["rewards"].keys() == {"equation", "format"} and "error" not in lines[0]
    assert pq.read_table(io.BytesIO(selected("parquet").content))["id"].to_pylist() == ids
    text = selected("md").text
    assert text.count("## `") == 3 and "**tool, calculator**" in text and "reward" in text


ODD = {  # id -> text
    "backslashes": "a\\b \\u0041 \\ud800 text",
    "half": "x\ud800\\y \\n",
    "nul": "a\x00b",
    "direction": "\u202eabc",
    "terminal": "\x1b[31mred",
    "lines": "a\r\nb\n",
    "separators": "a\u2028b\u2029c\x85d",
    "fences": "```\n````python\n~~~",
    "empty": "",
    "face": "😀",
    "half id \udfff": "id",
}
REWARDS = [1.0, math.nan, math.inf, None, -0.0, 0.1 + 0.2]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("odd")
    with rs.init(project="p", id="odd", dir=folder, host=False) as run:
        run.log_samples(step=0, samples=[odd_sample(n, id, text) for n, (id, text) in enumerate(ODD.items())])
    with TestClient(create(str(folder)), base_url="http://127.0.0.1") as client:
        yield client


def odd_sample(n: int, id: str, text: str) -> dict[str, Any]:
    """A sample with one text everywhere; two of three have turns."""
    turns = [
        {"role": "assistant", "content": text},
        {"role": "tool", "tool": "t", "arguments": text, "result": text, "ok": n % 2 == 0, "seconds": 0.5},
    ]
    return {
        "id": id,
        "group": "g",
        "prompt": text,
        "completion": text,
        "reward": REWARDS[n % 6],
        "rewards": {"part": 0.5},
        "completion_tokens": n or None,
        "tokens": ["a", text],
        "logp": [-0.5, math.nan],
        "tags": [text],
        "turns": turns if n % 3 else None,
    }


def exported(client: TestClient, ids: list[str], format: str) -> bytes:
    reply = client.post(
        "/api/runs/odd/export",
        content=json.dumps({"ids": ids, "format": format}),
        headers={"content-type": "application/json"},
    )
    assert reply.status_code == 200, reply.text
    return reply.content


def test_exported_json_reads_back_as_it_was_logged(odd: TestClient) -> None:
    """Text with lone surrogates, NaN, infinities, missing numbers, turns, and the order of ids."""
    ids = list(ODD)[::-1]
    rows = [json.loads(line) for line in exported(odd, ids, "jsonl").decode().split("\n") if line]
    assert [row["id"] for row in rows] == ids
    for n, row in zip(reversed(range(len(ids))), rows, strict=True):
        text, reward = ODD[row["id"]], row.get("reward")
        assert (row["prompt"], row["completion"], row["tokens"], row["tags"]) == (text, text, ["a", text], [text])
        assert repr({"NaN": math.nan, "Infinity": math.inf}.get(reward, reward)) == repr(REWARDS[n % 6])
        assert row.get("completion_tokens") == (n or None) and row["logp"] == [-0.5, "NaN"]
        turns = [(turn.get("content"), turn.get("result"), turn.get("ok")) for turn in row.get("turn_rows", [])]
        assert turns == ([(text, None, None), (None, text, n % 2 == 0)] if n % 3 else [])


def test_exported_parquet_reads_back_as_it_was_logged(odd: TestClient) -> None:
    for row in pq.read_table(io.BytesIO(exported(odd, list(ODD), "parquet"))).to_pylist():
        undo = {name: arrow.unescape for name in (row["escaped"] or "").split(",")}
        id = undo.get("id", str)(row["id"])
        n = list(ODD).index(id)
        assert undo.get("completion", str)(row["completion"]) == ODD[id]
        assert repr(row["reward"]) == repr(REWARDS[n % 6])
        results = [turn["result"] for turn in json.loads(row["turn_rows"] or "[]")]
        assert results == ([None, ODD[id]] if n % 3 else [])


def test_an_id_with_half_a_character_is_an_id_and_an_unknown_one_is_left_out(odd: TestClient) -> None:
    half = next(id for id in ODD if id.startswith("half id"))
    ask = {"content": json.dumps({"ids": [half, "\ud800"]}), "headers": {"content-type": "application/json"}}
    (sample,) = odd.post("/api/runs/odd/rollouts/samples", **ask).json()["samples"]
    assert (sample["id"], sample["completion"], len(sample["turn_rows"])) == (half, "id", 2)
    assert odd.post("/api/runs/odd/rollouts/previews", **ask).json() == {"lines": {half: "id"}}
    assert exported(odd, ["not there", "\ud800"], "jsonl") == exported(odd, [], "md") == b""
    assert len(pq.read_table(io.BytesIO(exported(odd, ["not there"], "parquet")))) == 0


def test_export_by_condition_only_reads(rolls: TestClient) -> None:
    condition = {"where": "not trained and step = 35", "order_by": "id", "limit": 3}
    rows = rolls.get("/api/runs/rolls/export", params=condition).text.splitlines()
    assert len(rows) == 3 and all(json.loads(row)["discard_reason"] == "zero_advantage" for row in rows)
    writing = {"where": "1=1); COPY (select 1) TO '/tmp/x"}
    assert rolls.get("/api/runs/rolls/export", params=writing).status_code == 400


def test_markdown_fences_hold() -> None:
    assert fenced("a\n```\nb\n`````\nc").startswith("``````\n") and fenced("x") == "```\nx\n```\n"


def test_exported_markdown_has_no_markup_from_a_model(rolls: TestClient) -> None:
    """All text of a sample is in fences or code spans: ids, words, component and tool names too."""
    text = rolls.post("/api/runs/rolls/export", json={"ids": ["hostile-1", "s35.2.0"], "format": "md"}).text
    outside, fence = [], ""
    for line in text.splitlines():
        ticks = re.match(r"`{3,}", line)
        if ticks and not fence:
            fence = ticks[0]
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(re.sub(r"(`+)(?:(?!\1).)+\1", "", line))
    assert "step 39" in text and not fence
    assert not any(mark in "\n".join(outside) for mark in ("<", "javascript", "evil"))
