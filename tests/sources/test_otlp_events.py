"""Calls of models whose messages are in an event, as the newest conventions have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rollscope.sources.otlp.receiver import Receiver
from rollscope.store import store as rs
from tests.sources.test_otlp import listed, send, series, span, traces

ASKED = [{"role": "user", "parts": [{"type": "text", "content": "2+2?"}]}]
SAID = [{"role": "assistant", "parts": [{"type": "text", "content": "4"}], "finish_reason": "stop"}]
MINE = {"rl__sample__id": "s1", "rl__step": 4, "gen_ai__operation__name": "chat"}


def structured(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": structured(one)} for key, one in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [structured(one) for one in value]}}
    return {"stringValue": value}


MESSAGES = [
    {"key": "gen_ai.input.messages", "value": structured(ASKED)},
    {"key": "gen_ai.output.messages", "value": {"stringValue": json.dumps(SAID)}},
]


def event(id: int, **about: Any) -> dict[str, Any]:
    name = "gen_ai.client.inference.operation.details"
    record = {"timeUnixNano": str(10**18), "eventName": name, "spanId": f"{id:016x}", "traceId": "ab" * 16}
    record |= {"attributes": [*listed(**about), *MESSAGES]}
    about_run = {"attributes": listed(rl__run__id="r")}
    return {"resourceLogs": [{"resource": about_run, "scopeLogs": [{"logRecords": [record]}]}]}


def call(id: int, with_messages: bool) -> dict[str, Any]:
    attributes = [*listed(**MINE, gen_ai__usage__output_tokens=1), *(MESSAGES if with_messages else [])]
    return traces(span(id, attributes=attributes), rl__run__id="r")


@pytest.mark.parametrize("is_first", ["event", "span"])
@pytest.mark.parametrize("with_messages", [False, True])
def test_a_call_is_told_once_by_its_span_and_its_event(with_messages: bool, is_first: str, tmp_path: Path) -> None:
    receiver = Receiver(tmp_path)
    batches = [(call(1, with_messages), "traces"), (event(1, **MINE), "logs")]
    for batch, signal in batches if is_first == "span" else reversed(batches):
        assert send(receiver, batch, signal) == {}
    receiver.close()
    run = rs.open(tmp_path).run("r")
    turns = run.sql("SELECT sample, turn, role, content, stop_reason FROM turns ORDER BY turn")
    assert list(zip(*turns.values(), strict=True)) == [
        ("s1", 0, "user", "2+2?", None),
        ("s1", 1, "assistant", "4", "stop"),
    ]
    samples = run.sql("SELECT DISTINCT id, prompt, completion, step FROM samples")
    assert ("s1", "2+2?", "4", 4) in list(zip(*samples.values(), strict=True))


def test_an_event_of_no_sample_is_a_note(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path)
    send(receiver, event(1, gen_ai__operation__name="chat"), "logs")
    receiver.close()
    run = rs.open(tmp_path).run("r")
    assert len(run.sql("SELECT id FROM samples")["id"]) == 0
    assert run.notes()["text"].tolist() == ["gen_ai.client.inference.operation.details"]


def test_quantiles_of_a_summary_have_names_of_their_own(tmp_path: Path) -> None:
    quantiles = [{"quantile": q, "value": q * 10} for q in (0.05, 0.5, 0.99, 0.999, 1.0)]
    point = {"timeUnixNano": str(10**18), "count": "3", "sum": 6.0, "quantileValues": quantiles}
    metric = {"name": "wait", "summary": {"dataPoints": [{**point, "attributes": listed(rl__step=1)}]}}
    part = {"resource": {"attributes": listed(rl__run__id="r")}, "scopeMetrics": [{"metrics": [metric]}]}
    receiver = Receiver(tmp_path)
    assert send(receiver, {"resourceMetrics": [part]}, "metrics") == {}
    receiver.close()
    run = rs.open(tmp_path).run("r")
    found = {name: series(run, name)[1] for name in run.metrics()["name"] if "/p" in name}
    assert found == {"wait/p05": 0.5, "wait/p50": 5.0, "wait/p99": 9.9, "wait/p99.9": 9.99, "wait/p100": 10.0}
