"""Samples of a step over HTTP: columns first, text for what is looked at, the run searched, files only from below the run."""

from __future__ import annotations

import io
import json
import math
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

import rollscope as rs
from rollscope.server.app import create
from rollscope.server.library import Library
from rollscope.server.packed import unpack
from rollscope.server.routes.search import _lines
from rollscope.store import arrow
from rollscope.store.seal.compact import compact
from rollscope.store.seal.logs import seal
from rollscope.views.samples.search import Narrow, Phrase
from tests.web.rollout_runs import HOSTILE, STEPS, TASKS, record


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("rolls")
    record(found)
    return found


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    with TestClient(create(str(folder)), base_url="http://127.0.0.1") as client:
        yield client


def step(client: TestClient, n: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return unpack(client.get(f"/api/runs/rolls/rollouts?step={n}").content)


def test_a_step_is_columns_without_text(client: TestClient) -> None:
    head, columns = step(client, 35)
    assert (head["step"], head["before"], head["after"]) == (35, 34, 36)
    assert len(head["ids"]) == 32 and head["groups"] == [f"g35.{t}" for t in range(4)] and head["tasks"] == list(TASKS)
    assert {"rewards/equation", "rewards/format", "sample_metrics/accuracy"} == set(head["parts"])
    assert head["ranges"]["reward"] == [0, 2] and head["ranges"]["rewards/format"] == [0, 1]
    np.testing.assert_array_equal(columns["group"], np.repeat(np.arange(4), 8))
    assert "completion" not in json.dumps({k: v for k, v in head.items() if k != "columns"})


def test_a_step_without_samples_means_the_last_before_it(client: TestClient) -> None:
    assert step(client, 10_000)[0]["step"] == STEPS - 1
    assert step(client, -5)[0]["step"] == 0


def test_the_samples_that_a_list_opens_with_come_along(client: TestClient, tmp_path: Path) -> None:
    head, columns = step(client, 35)
    assert head["samples"] == []
    trained = [i for i in range(32) if columns["fate"][i] == 1]
    worst = min({columns["group"][i] for i in trained}, key=lambda g: (columns["reward"][8 * g : 8 * g + 8].mean(), g))
    order = sorted((i for i in trained if columns["group"][i] == worst), key=lambda i: -columns["reward"][i])
    found = unpack(client.get("/api/runs/rolls/rollouts?step=35&texts=4").content)[0]["samples"]
    assert [s["id"] for s in found] == [head["ids"][order[k]] for k in (-1, 0, -2, 1)]
    assert (
        found
        == client.post("/api/runs/rolls/rollouts/samples", json={"ids": [s["id"] for s in found]}).json()["samples"]
    )
    with rs.init(
        project="p", id="bare", dir=tmp_path, host=False
    ) as run:  # no reward, no fate; then only an evaluation
        run.log_samples(step=0, samples=[{"id": f"{i}", "group": f"g{i % 2}"} for i in range(6)])
        run.log_samples(step=1, samples=[{"id": "e", "split": "eval", "score": 0.5}])
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as bare:
        first = [
            [s["id"] for s in unpack(bare.get(f"/api/runs/bare/rollouts?step={n}&texts=2").content)[0]["samples"]]
            for n in (0, 1)
        ]
    assert first == [["4", "0"], ["e"]]


def test_gini_is_the_groups_own(client: TestClient) -> None:
    head, columns = step(client, 35)
    reward = np.sort(columns["reward"][8 * 2 : 8 * 3])
    rank = np.arange(1, 9)
    assert math.isclose(columns["gini"][2], ((2 * rank - 9) * reward).sum() / (8 * reward.sum()), rel_tol=1e-5)
    assert columns["gini"][3] == 0  # all of them failed: nothing is unequal
    assert len(head["groups"]) == len(columns["gini"])


def test_an_evaluation_of_the_same_prompt_is_a_group_of_its_own(tmp_path: Path) -> None:
    rows = [
        {"id": f"{split}{i}", "task": "2+2", "split": split, "reward": float(i)}
        for i in range(2)
        for split in ("train", "eval")
    ]
    with rs.init(project="p", id="both", dir=tmp_path, host=False) as run:
        run.log_samples(step=0, samples=rows)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        head, columns = unpack(client.get("/api/runs/both/rollouts?step=0").content)
    assert head["groups"] == ["2+2", "2+2"] and head["ids"] == ["train0", "train1", "eval0", "eval1"]
    assert columns["group"].tolist() == [0, 0, 1, 1] and columns["fate"].tolist() == [0, 0, 3, 3]


def search_words(client: TestClient, text: str, q: str, **more: Any) -> set[str]:
    return {hit["id"] for hit in search(client, text, q=q, limit=10_000, **more)[0]}


def test_a_search_is_narrowed_by_the_filter_words(client: TestClient, folder: Path) -> None:
    """Each word against the same condition in SQL over the run."""
    run = rs.open(folder).run("rolls")
    said = "completion like '%Let me try%'"
    for words, where in {
        "reward<0.5": "reward < 0.5", "reward:0..1 env:tools": "reward between 0 and 1 and env = 'tools'", "stop=length": "stop_reason = 'length'", "format>=1": "json_extract(rewards, '$.format')::double >= 1",
        "rewards/equation=1 tokens>20": "json_extract(rewards, '$.equation')::double = 1 and completion_tokens > 20", 'reason:"zero_adv"': "discard_reason = 'zero_advantage'",
        "accuracy<=0.5 group:g35.": "json_extract(sample_metrics, '$.accuracy')::double <= 0.5 and \"group\" like 'g35.%'", "failures>0": "tool_failures > 0", "nothing>0": "false", 'task:"[3, 7, 8]"': "task like '%[3, 7, 8]%'",
    }.items():  # fmt: skip
        expected = set(run.samples(where=f"{said} and {where}", columns=["id"])["id"])
        found = search_words(client, "let me try", words)
        assert found == expected and (expected or words == "nothing>0"), words
    dropped = set(run.samples(where=f"{said} and not trained", columns=["id"])["id"])
    assert search_words(client, "let me try", "", fate="dropped") == dropped != set()
    calls = search_words(client, "division by zero", "id:s35.")
    assert calls == {"s35.2.0", "s35.2.3", "s35.2.6"}
    head, columns = step(client, 35)
    unequal = {head["ids"][i] for i in range(32) if columns["gini"][columns["group"][i]] > 0.05}
    assert search_words(client, "let me try", "gini>0.05 group:g35.") == unequal != set()


def test_fates_and_their_reasons(client: TestClient) -> None:
    head, columns = step(client, 35)
    reasons = np.array(head["words"]["discard_reason"])[columns["discard_reason code"]]
    assert set(reasons[columns["fate"] == 2]) == {"zero_advantage"} and set(reasons[columns["fate"] == 1]) == {""}


def test_samples_come_whole_with_turns_and_tokens(client: TestClient) -> None:
    tool, plain = client.post("/api/runs/rolls/rollouts/samples", json={"ids": ["s35.2.0", "s35.0.0"]}).json()[
        "samples"
    ]
    assert [t["role"] for t in tool["turn_rows"]] == ["assistant", "tool", "assistant"]
    assert tool["turn_rows"][1]["ok"] is False and tool["turn_rows"][1]["seconds"] == 0.012
    assert (
        len(plain["tokens"]) == len(plain["logp"]) == len(plain["entropy"])
        and "".join(plain["tokens"]) == plain["completion"]
    )
    assert client.post("/api/runs/rolls/rollouts/samples", json={"ids": ["not there"]}).json() == {"samples": []}


def test_a_long_text_comes_in_two_parts(tmp_path: Path) -> None:
    text = "é𝄞x" * 50_000
    with rs.init(project="p", id="long", dir=tmp_path, host=False) as run:
        run.log_samples(step=0, samples=[{"id": "a", "completion": text, "reward": 1.0}])
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        first = client.post("/api/runs/long/rollouts/samples", json={"ids": ["a"]}).json()["samples"][0]
        assert first["whole"]["completion"] == len(text) and len(first["completion"]) == 64_000
        rest = client.post(
            "/api/runs/long/rollouts/text", json={"id": "a", "field": "completion", "start": len(first["completion"])}
        ).text.splitlines()
        assert first["completion"] + "".join(map(json.loads, rest)) == text
        assert (
            client.post("/api/runs/long/rollouts/text", json={"id": "a", "field": "reward", "start": 0}).status_code
            == 400
        )
        assert (
            client.post("/api/runs/long/rollouts/text", json={"id": "b", "field": "prompt", "start": 0}).status_code
            == 404
        )


def test_hostile_text_arrives_as_it_was_written(client: TestClient) -> None:
    head, _ = step(client, STEPS - 1)
    assert HOSTILE in head["tasks"] and HOSTILE in head["words"]["stop_reason"]
    sample = client.post("/api/runs/rolls/rollouts/samples", json={"ids": ["hostile-1"]}).json()["samples"][0]
    assert sample["completion"] == sample["prompt"] == HOSTILE
    assert client.get(f"/api/runs/rolls/visits?step={STEPS - 1}").status_code == 200
    assert client.get("/api/runs/rolls/prompts").status_code == 200


def test_the_last_visit_of_a_prompt(client: TestClient) -> None:
    tasks = client.get("/api/runs/rolls/visits?step=35").json()["tasks"]
    head, columns = step(client, 34)
    for g, task in enumerate(head["tasks"]):
        assert tasks[task] == [34, pytest.approx(float(columns["reward"][columns["group"] == g].mean()))]
    assert client.get("/api/runs/rolls/visits?step=0").json()["tasks"] == {}


def test_prompts_are_solved_forgotten_or_never_solved(client: TestClient) -> None:
    head, columns = unpack(client.get("/api/runs/rolls/prompts").content)
    status = dict(zip(head["tasks"], head["status"], strict=True))
    assert (status[TASKS[0]], status[TASKS[1]], status[TASKS[3]]) == ("forgotten", "solved", "never")
    assert columns["count"].sum() == len(columns["step"]) == len(columns["mean"]) and head["range"] == [0, 2]
    words = client.post(
        "/api/runs/rolls/rollouts/previews", json={"ids": [head["samples"][head["tasks"].index(TASKS[2])]]}
    ).json()["lines"]
    assert list(words.values()) == [f"{TASKS[2]}."]
    visits = client.get("/api/runs/rolls/prompts/visits", params={"task": TASKS[0], "near": 12}).json()
    assert visits["total"] == STEPS and all(len(v["samples"]) == 8 for v in visits["visits"])
    assert client.get("/api/runs/rolls/prompts/visits", params={"task": "nothing"}).json() == {"visits": [], "total": 0}


def test_previews_are_one_line(client: TestClient) -> None:
    lines = client.post("/api/runs/rolls/rollouts/previews", json={"ids": ["s35.0.0", "s35.2.0"]}).json()["lines"]
    assert lines == {"s35.0.0": f"{TASKS[0]}.", "s35.2.0": f"{TASKS[2]}."}
    assert client.post("/api/runs/rolls/rollouts/previews", json={"ids": ["x"] * 401}).status_code == 400


def search(client: TestClient, text: str, **more: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    lines = [
        json.loads(line)
        for line in client.get("/api/runs/rolls/search", params={"text": text, **more}).text.splitlines()
    ]
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
    assert {line["hit"]["id"]: line["hit"]["reward"] for line in lines if "hit" in line} == {
        "train": None,
        "eval": 0.25,
    }  # as their chips say


def test_search_finds_every_sample_newest_first(client: TestClient) -> None:
    hits, end = search(client, "ANSWER 3: NO", limit=10_000)
    steps = [h["step"] for h in hits]
    assert steps == sorted(steps, reverse=True) and end["end"] and end["found"] == len(hits) > STEPS and not end["cut"]
    assert all(h["match"] == "Answer 3: no" for h in hits)
    assert search(client, "ANSWER 3: NO", case=True)[0] == []


def test_search_looks_into_turns_and_hostile_text(client: TestClient) -> None:
    hits, _ = search(client, "division by zero", limit=10_000)
    assert len(hits) == 3 * STEPS and {h["where"] for h in hits} == {"calculator"}
    assert [h["id"] for h in search(client, "xyzzy")[0]] == ["hostile-2"]
    assert {h["id"] for h in search(client, "<script>")[0]} == {"hostile-1", "hostile-2"}
    assert search(client, "100%_")[0] == []


def test_search_stops_at_its_limit(client: TestClient) -> None:
    hits, end = search(client, "Let me try", limit=5)
    assert len(hits) == 5 and end["cut"]
    assert client.get("/api/runs/rolls/search", params={"text": "  "}).status_code == 400


def test_a_search_that_nobody_reads_any_more_is_over(folder: Path) -> None:
    library = Library(str(folder))
    for _ in range(5):  # more than may run at once: each must have let go of its place
        lines = _lines(library, "rolls", Phrase("Let me try"), 10_000, Narrow())
        assert "hit" in next(lines)
        lines.close()


def test_a_search_goes_on_when_the_files_it_reads_are_merged(tmp_path: Path) -> None:
    for part in range(3):  # three sets, which a compaction makes one and then removes
        with rs.init(project="p", id="many", dir=tmp_path, resume="allow", host=False) as run:
            run.log_samples(step=part, samples=[{"id": f"{part}.{i}", "completion": f"hello {i}"} for i in range(700)])
    seal(str(tmp_path / "many"))
    library = Library(str(tmp_path))
    lines = _lines(library, "many", Phrase("hello"), 10_000, Narrow())
    told = next(lines)
    assert compact(str(tmp_path / "many"), everything=True)
    told += "".join(lines)
    hits = [json.loads(line)["hit"]["id"] for line in told.splitlines() if "hit" in line]
    assert len(hits) == len(set(hits)) == 2100 and json.loads(told.splitlines()[-1]) == {
        "end": True,
        "found": 2100,
        "cut": False,
    }


def test_a_search_that_somebody_has_stopped_reading_keeps_nobody_waiting(folder: Path) -> None:
    library = Library(str(folder))
    asleep = [_lines(library, "rolls", Phrase("Let me try"), 10_000, Narrow()) for _ in range(5)]
    assert all("hit" in next(lines) for lines in asleep)  # none is read to its end
    done = threading.Thread(
        target=lambda: list(_lines(library, "rolls", Phrase("Let me try"), 10_000, Narrow())), daemon=True
    )
    done.start()
    done.join(60)
    assert not done.is_alive()


def test_export_of_the_selection(client: TestClient) -> None:
    ids = ["s35.2.1", "s35.0.0", "hostile-1"]
    lines = [
        json.loads(line)
        for line in client.post("/api/runs/rolls/export", json={"ids": ids, "format": "jsonl"}).text.splitlines()
    ]
    assert (
        [row["id"] for row in lines] == ids
        and lines[1]["rewards"].keys() == {"equation", "format"}
        and "error" not in lines[0]
    )
    table = pq.read_table(
        io.BytesIO(client.post("/api/runs/rolls/export", json={"ids": ids, "format": "parquet"}).content)
    )
    assert table["id"].to_pylist() == ids
    text = client.post("/api/runs/rolls/export", json={"ids": ids, "format": "md"}).text
    assert text.count("## `") == 3 and "**tool, calculator**" in text and "reward" in text


ODD = {
    "backslashes": "a\\b \\u0041 \\ud800 text", "half": "x\ud800\\y \\n", "nul": "a\x00b", "direction": "\u202eabc", "terminal": "\x1b[31mred", "lines": "a\r\nb\n", "separators": "a\u2028b\u2029c\x85d",
    "fences": "```\n````python\n~~~", "empty": "", "face": "😀", "half id \udfff": "id",
}  # fmt: skip
REWARDS = [1.0, math.nan, math.inf, None, -0.0, 0.1 + 0.2]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("odd")
    with rs.init(project="p", id="odd", dir=folder, host=False) as run:
        for n, (id, text) in enumerate(ODD.items()):
            said = [
                {"role": "assistant", "content": text},
                {"role": "tool", "tool": "t", "arguments": text, "result": text, "ok": n % 2 == 0, "seconds": 0.5},
            ]
            row = {
                "id": id,
                "group": "g",
                "prompt": text,
                "completion": text,
                "reward": REWARDS[n % 6],
                "rewards": {"part": 0.5},
                "completion_tokens": n or None,
            }
            run.log_samples(
                step=0,
                samples=[
                    row
                    | {
                        "tokens": ["a", text],
                        "logp": [-0.5, math.nan],
                        "tags": [text],
                        "turns": said if n % 3 else None,
                    }
                ],
            )
    with TestClient(create(str(folder)), base_url="http://127.0.0.1") as client:
        yield client


def exported(client: TestClient, ids: list[str], format: str) -> bytes:
    answer = client.post(
        "/api/runs/odd/export",
        content=json.dumps({"ids": ids, "format": format}),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code == 200, answer.text
    return answer.content


def test_what_is_exported_reads_back_as_it_was_logged(odd: TestClient) -> None:
    """Lines of JSON and Parquet: text to the last half character, NaN and the infinities apart from nothing, whole numbers, turns, and the asked order."""
    ids = list(ODD)[::-1]
    for n, row in enumerate([json.loads(line) for line in exported(odd, ids, "jsonl").decode().split("\n") if line]):
        text, at = ODD[ids[n]], len(ids) - 1 - n
        said = {None: None, "NaN": math.nan, "Infinity": math.inf}.get(found := row.get("reward"), found)
        assert row["id"] == ids[n] and (row["prompt"], row["completion"], row["tokens"], row["tags"]) == (
            text,
            text,
            ["a", text],
            [text],
        )
        assert (
            repr(said) == repr(REWARDS[at % 6])
            and row.get("completion_tokens") == (at or None)
            and row["logp"] == [-0.5, "NaN"]
        )
        assert [(t.get("content"), t.get("result"), t.get("ok")) for t in row.get("turn_rows", [])] == (
            [(text, None, None), (None, text, at % 2 == 0)] if at % 3 else []
        )
    for row in pq.read_table(io.BytesIO(exported(odd, ids, "parquet"))).to_pylist():
        undo = {name: arrow.unescape for name in (row["escaped"] or "").split(",")}
        id = undo.get("id", str)(row["id"])
        assert undo.get("completion", str)(row["completion"]) == ODD[id] and repr(row["reward"]) == repr(
            REWARDS[list(ODD).index(id) % 6]
        )
        assert [t["result"] for t in json.loads(row["turn_rows"] or "[]")] == (
            [None, ODD[id]] if list(ODD).index(id) % 3 else []
        )


def test_an_id_of_half_characters_or_of_nothing_is_an_id(odd: TestClient) -> None:
    half = next(id for id in ODD if id.startswith("half id"))
    ask = {"content": json.dumps({"ids": [half, "\ud800"]}), "headers": {"content-type": "application/json"}}
    found = odd.post("/api/runs/odd/rollouts/samples", **ask).json()["samples"]
    assert [(s["id"], s["completion"], len(s["turn_rows"])) for s in found] == [(half, "id", 2)]
    assert odd.post("/api/runs/odd/rollouts/previews", **ask).json() == {"lines": {half: "id"}}
    assert exported(odd, ["not there", "\ud800"], "jsonl") == exported(odd, [], "md") == b""
    assert len(pq.read_table(io.BytesIO(exported(odd, ["not there"], "parquet")))) == 0


def test_export_by_condition_only_reads(client: TestClient) -> None:
    rows = client.get(
        "/api/runs/rolls/export", params={"where": "not trained and step = 35", "order_by": "id", "limit": 3}
    ).text.splitlines()
    assert len(rows) == 3 and all(json.loads(r)["discard_reason"] == "zero_advantage" for r in rows)
    assert client.get("/api/runs/rolls/export", params={"where": "1=1); COPY (select 1) TO '/tmp/x"}).status_code == 400


def test_markdown_fences_hold(client: TestClient) -> None:
    from rollscope.views.samples.sample_export import fenced

    assert fenced("a\n```\nb\n`````\nc").startswith("``````\n") and fenced("x") == "```\nx\n```\n"


def test_exported_markdown_holds_no_markup_of_a_model(client: TestClient) -> None:
    """Outside fences and code spans nothing is left of what the sample says: ids, words, names of components and tools too."""
    text = client.post("/api/runs/rolls/export", json={"ids": ["hostile-1", "s35.2.0"], "format": "md"}).text
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


@pytest.mark.parametrize(("path", "status"), [
    ("media/inside.png", 200), ("media/page.svg", 200), ("media/none.png", 404), ("media/link.png", 404), ("../outside.png", 404), ("..%2Foutside.png", 404), ("media/%2e%2e/%2e%2e/outside.png", 404),
    ("run.json", 400), ("/etc/passwd", 404), ("%2Fetc%2Fpasswd", 404), ("media", 400), ("media/inside.png%00.png", 400), ("media\\..\\..\\outside.png", 404),
])  # fmt: skip
def test_media_only_from_below_the_run(client: TestClient, path: str, status: int) -> None:
    found = client.get(f"/api/runs/rolls/media/{path}")
    assert found.status_code == status
    if status == 200:
        assert (
            found.headers["x-content-type-options"] == "nosniff"
            and "sandbox" in found.headers["content-security-policy"]
        )
        assert found.headers["content-type"].startswith("image/")
    else:
        assert b"PNG" not in found.content and b"root:" not in found.content


def test_a_run_without_samples_says_so(tmp_path: Path) -> None:
    with rs.init(project="p", id="none", dir=tmp_path, host=False) as run:
        run.log({"reward/mean": 1.0}, step=0)
        run.commit(0)
    with TestClient(create(str(tmp_path)), base_url="http://127.0.0.1") as client:
        assert unpack(client.get("/api/runs/none/rollouts").content)[0]["step"] is None
        assert client.get("/api/runs/none/prompts").status_code == 200
        assert "no samples" in client.get("/api/runs/none/why?metric=reward/mean&step=0").json()["says"]
        assert client.get("/api/runs/none/why/able?metric=reward/mean").json()["able"] is False
