"""OpenTelemetry's own SDK sends to a real server; nothing that was accepted is lost or doubled."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rollscope.errors import RollscopeError
from rollscope.sources.otlp.body import LARGEST
from rollscope.sources.otlp.receiver import Receiver
from rollscope.sources.otlp.seen import RECENT, SpanIds
from rollscope.store import store as rs
from tests.recorded import SENT, held, recorded

CLIENT = """
import json, sys
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.trace import Status, StatusCode
import logging
url = sys.argv[1]
about = {"service.name": "trainer", "rl.run.id": "grpo-1", "rl.algorithm": "grpo", "rl.environment.name": "countdown"}
resource = Resource.create(about)
tracing = TracerProvider(resource=resource)
tracing.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(url + "/v1/traces", compression=Compression.Gzip)))
tracer = tracing.get_tracer("client")
with tracer.start_as_current_span("rl.loop", attributes={"rl.step": 7}):
    sample = {"rl.step": 7, "rl.sample.id": "s1", "rl.sample.task.id": "t1", "rl.group.id": "g1", "rl.sample.turns": 2,
              "rl.policy.version": 6, "unknown.thing": "kept"}
    with tracer.start_as_current_span("rl.sample", attributes=sample):
        asked = [{"role": "system", "parts": [{"type": "text", "content": "be brief"}]},
                 {"role": "user", "parts": [{"type": "text", "content": "2+2?"}]}]
        said = [{"role": "assistant", "parts": [{"type": "text", "content": "let me compute"}],
                 "finish_reason": "tool_call"}]
        call = {"gen_ai.operation.name": "chat", "rl.sample.id": "s1", "gen_ai.input.messages": json.dumps(asked),
                "gen_ai.output.messages": json.dumps(said), "gen_ai.usage.output_tokens": 3}
        with tracer.start_as_current_span("chat model", attributes=call): pass
        tool = {"gen_ai.operation.name": "execute_tool", "rl.sample.id": "s1", "gen_ai.tool.name": "calculator",
                "gen_ai.tool.call.arguments": '{"a": 2}', "gen_ai.tool.call.result": "4"}
        with tracer.start_as_current_span("execute_tool calculator", attributes=tool): pass
        back = [*asked, *said, {"role": "tool", "parts": [{"type": "tool_call_response", "response": "4"}]}]
        end = [{"role": "assistant", "parts": [{"type": "text", "content": "4"}], "finish_reason": "stop"}]
        call |= {"gen_ai.input.messages": json.dumps(back), "gen_ai.output.messages": json.dumps(end)}
        with tracer.start_as_current_span("chat model", attributes=call): pass
    with tracer.start_as_current_span("rl.reward", attributes={"rl.sample.id": "s1", "rl.reward.score": 0.5,
            "rl.reward.component.format": 1.0, "rl.reward.run.code": "max_turns"}): pass
    with tracer.start_as_current_span("rl.train", attributes={"rl.step": 7}) as span:
        span.set_status(Status(StatusCode.ERROR, "out of memory"))
    with tracer.start_as_current_span("wait for weights"): pass
tracing.shutdown()
reader = PeriodicExportingMetricReader(OTLPMetricExporter(url + "/v1/metrics"))
metering = MeterProvider(metric_readers=[reader], resource=resource)
meter = metering.get_meter("client")
meter.create_gauge("rl.train.loss").set(0.25, {"rl.step": 7})
meter.create_histogram("rl.sample.duration").record(2.0, {"rl.step": 7})
meter.create_gauge("vllm.requests_running").set(12)
metering.shutdown()
logs = LoggerProvider(resource=resource)
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(url + "/v1/logs")))
logger = logging.getLogger("client"); logger.addHandler(LoggingHandler(logger_provider=logs))
logger.warning("the sandbox is slow")
logs.shutdown()
"""


@contextmanager
def serving(folder: Path, *command: str) -> Iterator[str]:
    command = command or ("serve", "--no-browser")
    words = [sys.executable, "-m", "rollscope", *command, "--dir", str(folder), "--port", "0", "--json"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"].rstrip("/")
        wait_for(f"{url}/api/health")
        yield url
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=60).close()
            return
        except urllib.error.URLError:
            time.sleep(0.05)
    raise TimeoutError(url)


def post(url: str, body: bytes, **headers: str) -> tuple[int, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, body, {"content-type": "application/json", **named})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def head_alone(url: str, length: int) -> bytes:
    """The first line of the reply to a request that has sent nothing but its head."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        head = f"POST /v1/traces HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n"
        connection.sendall(head.encode())
        return connection.makefile("rb").readline()


def span(id: int, **more: Any) -> dict[str, Any]:
    times = {"startTimeUnixNano": str(10**18 + id), "endTimeUnixNano": str(10**18 + id + 1000)}
    return {"traceId": "ab" * 16, "spanId": f"{id:016x}", "name": f"work {id}", **times, **more}


def listed(**attributes: Any) -> list[dict[str, Any]]:
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue", bool: "boolValue"}
    return [
        {"key": name.replace("__", "."), "value": {kinds[type(value)]: value}} for name, value in attributes.items()
    ]


def traces(*spans: dict[str, Any], **resource: Any) -> dict[str, Any]:
    about = {"attributes": listed(**resource)}
    return {"resourceSpans": [{"resource": about, "scopeSpans": [{"spans": list(spans)}]}]}


def send(receiver: Receiver, batch: Any, signal: str = "traces") -> Any:
    body, _ = receiver.take(signal, "application/json", "", json.dumps(batch).encode())
    return json.loads(body)


def test_the_sdk_sends_and_the_run_holds_spans_samples_turns_numbers_and_notes(tmp_path: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    patient = {**clean, "OTEL_EXPORTER_OTLP_TIMEOUT": "60"}
    with serving(tmp_path) as url:
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, url], env=patient, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0 and "Failed" not in done.stderr, done.stderr[-3000:]
        run = rs.open(tmp_path).run("grpo-1")
        assert run.record()["state"] == "running"
    run = rs.open(tmp_path).run("grpo-1")
    facts = run.record()
    assert (facts["name"], facts["algorithm"], facts["state"]) == ("grpo-1", "grpo", "finished")
    spans = {row["name"]: row for row in records(run.sql("SELECT * FROM spans"))}
    assert set(spans) == {"rl.loop", "rl.sample", "chat model", "execute_tool calculator", "rl.reward", "rl.train",
                          "wait for weights"}  # fmt: skip
    assert spans["rl.train"]["parent"] == spans["rl.loop"]["id"] and spans["rl.train"]["step"] == 7
    assert spans["wait for weights"]["kind"] == "wait" and spans["rl.sample"]["sample"] == "s1"
    assert json.loads(spans["rl.sample"]["data"])["unknown.thing"] == "kept"
    assert json.loads(spans["rl.train"]["data"])["error"] == "out of memory"
    sample = records(run.sql("SELECT * FROM samples"))
    assert len(sample) == 1
    one = sample[0]
    assert (one["id"], one["task"], one["group"], one["env"], one["step"]) == ("s1", "t1", "g1", "countdown", 7)
    assert (one["reward"], json.loads(one["rewards"]), one["turns"]) == (0.5, {"format": 1.0}, 2)
    assert one["policy_version_min"] == 6 and "2+2?" in one["prompt"]
    turns = records(run.sql("SELECT role, content, tool, tokens, ok FROM turns ORDER BY turn"))
    assert [turn["role"] for turn in turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert turns[1]["content"] == "2+2?" and turns[3]["tool"] == "calculator" and turns[4]["content"] == "4"
    assert series(run, "rl.train.loss") == {7: 0.25} and series(run, "rl.sample.duration/mean") == {7: 2.0}
    host = records(run.sql("SELECT name, value, device FROM host"))
    assert {"name": "vllm.requests_running", "value": 12.0, "device": "trainer"} in host
    notes = records(run.sql("SELECT text, kind FROM notes"))
    assert {"text": "the sandbox is slow", "kind": "warning"} in notes


def records(table: Any) -> list[dict[str, Any]]:
    names = list(table)
    return [dict(zip(names, row, strict=True)) for row in zip(*(table[name].tolist() for name in names), strict=True)]


def series(run: Any, name: str) -> dict[int, float]:
    points = run.series(name)
    return dict(zip(points["step"].tolist(), points["value"].tolist(), strict=True))


def test_what_is_sent_again_adds_nothing_also_after_a_restart(tmp_path: Path) -> None:
    first, batch = Receiver(tmp_path), traces(span(1), span(2), rl__run__id="r")
    log = {"resourceLogs": [{"resource": {"attributes": listed(rl__run__id="r")},
                             "scopeLogs": [{"logRecords": [{"body": {"stringValue": "hello"}}]}]}]}  # fmt: skip
    for _ in range(3):
        assert send(first, batch) == {} and send(first, log, "logs") == {}
    first.close()
    second = Receiver(tmp_path)
    send(second, batch), send(second, log, "logs")
    send(second, traces(span(2), span(3), rl__run__id="r"))  # sent again in another batch
    second.close()
    run = rs.open(tmp_path).run("r")
    assert sorted(run.sql("SELECT id FROM spans")["id"].tolist()) == [1, 2, 3]
    assert run.sql("SELECT text FROM notes WHERE kind = 'output'")["text"].tolist() == ["hello"]


def test_what_was_answered_survives_a_kill(tmp_path: Path) -> None:
    code = """
import json, os, sys
from rollscope.sources.otlp.receiver import Receiver
receiver = Receiver(sys.argv[1])
for body in json.load(sys.stdin):
    receiver.take("traces", "application/json", "", json.dumps(body).encode())
os.kill(os.getpid(), 9)
"""
    batches = [traces(span(i), rl__run__id="r") for i in range(1, 21)]
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], input=json.dumps(batches), text=True, timeout=120)
    again = Receiver(tmp_path)
    for batch in batches:
        send(again, batch)
    again.close()
    assert sorted(rs.open(tmp_path).run("r").sql("SELECT id FROM spans")["id"].tolist()) == list(range(1, 21))


def test_a_batch_that_a_kill_left_unanswered_is_taken_when_it_comes_again(tmp_path: Path) -> None:
    first, there = Receiver(tmp_path / "first"), tmp_path / "first" / "r"
    send(first, traces(span(1), rl__run__id="r"))
    sidecar = next(there.glob("*.import.json"))
    answered = sidecar.read_bytes()
    send(first, traces(span(2), span(3), rl__run__id="r"))
    here = tmp_path / "second" / "r"
    shutil.copytree(there, here)  # as a kill leaves it: the rows are in the log, what was answered is not
    (here / sidecar.name).write_bytes(answered)
    first.close()
    second = Receiver(tmp_path / "second")
    for spans in ((3, 2), (4,)):
        assert send(second, traces(*map(span, spans), rl__run__id="r")) == {}
    second.close()
    assert sorted(rs.open(tmp_path / "second").run("r").sql("SELECT id FROM spans")["id"].tolist()) == [1, 2, 3, 4]


def test_a_run_that_is_removed_while_it_is_received_begins_again(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path)
    send(receiver, traces(span(1), rl__run__id="r"))
    shutil.rmtree(tmp_path / "r")
    with pytest.raises(RollscopeError) as refused:
        send(receiver, traces(span(2), rl__run__id="r"))
    assert refused.value.status == 503 and "Send it again" in str(refused.value)
    assert send(receiver, traces(span(2), rl__run__id="r")) == {}, "a sender tries again"
    receiver.close()
    assert rs.open(tmp_path).run("r").sql("SELECT id FROM spans")["id"].tolist() == [2]


def test_bad_entries_are_counted_with_a_sentence_and_the_rest_is_kept(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path)
    bad = [span(2, spanId="zz"), span(3, endTimeUnixNano="1"), {**span(4), "startTimeUnixNano": None}]
    answer = send(receiver, traces(span(1), *bad, rl__run__id="r"))["partialSuccess"]
    assert answer["rejectedSpans"] == "3" and "'zz'; expected 16 hexadecimal digits" in answer["errorMessage"]
    metric = {"name": "x", "gauge": {"dataPoints": [{"asDouble": 1.0}]}}
    part = {"resource": {"attributes": listed(rl__run__id="r")}, "scopeMetrics": [{"metrics": [metric, {"name": "y"}]}]}
    answer = send(receiver, {"resourceMetrics": [part]}, "metrics")["partialSuccess"]
    assert answer["rejectedDataPoints"] == "2" and "has no time" in answer["errorMessage"]
    receiver.close()
    assert rs.open(tmp_path).run("r").sql("SELECT id FROM spans")["id"].tolist() == [1]


def test_messages_in_log_records_are_turns_of_their_sample_and_others_are_notes(tmp_path: Path) -> None:
    def record(event: str, body: Any, **about: Any) -> dict[str, Any]:
        return {"timeUnixNano": "1700000000000000000", "eventName": event, "body": body, "attributes": listed(**about)}

    def text(**fields: str) -> dict[str, Any]:
        values = [{"key": key, "value": {"stringValue": value}} for key, value in fields.items()]
        return {"kvlistValue": {"values": values}}

    mine = {"rl__sample__id": "s1", "rl__step": 4}
    records_of = [
        record("gen_ai.user.message", text(content="2 + 2?"), **mine),
        record("gen_ai.choice", text(content="4", finish_reason="max_tokens"), **mine),
        record("gen_ai.user.message", text(content="of nobody")),
        record("other", {"stringValue": "hello"}, **mine),
    ]
    part = {"resource": {"attributes": listed(rl__run__id="r")}, "scopeLogs": [{"logRecords": records_of}]}
    receiver = Receiver(tmp_path)
    for _ in range(2):
        send(receiver, {"resourceLogs": [part]}, "logs")
    receiver.close()
    run = rs.open(tmp_path).run("r")
    turns = records(run.sql("SELECT sample, turn, step, role, content, stop_reason FROM turns ORDER BY turn"))
    assert [tuple(turn.values())[:5] for turn in turns] == [
        ("s1", 0, 4, "user", "2 + 2?"),
        ("s1", 1, 4, "assistant", "4"),
    ]
    assert turns[1]["stop_reason"] == "length"
    assert len(run.sql("SELECT text FROM notes")["text"]) == 2


def test_spans_that_were_seen_take_eight_bytes_each() -> None:
    """The least and the greatest id of a span, and more of them than are kept in a set."""
    ids = SpanIds([-(2**63), 2**63 - 1])
    for id in range(RECENT + 10):
        ids.add(id)
        ids.add(id)
    assert len(ids) == RECENT + 12 and all(id in ids for id in (-(2**63), 2**63 - 1, 0, RECENT, RECENT + 9))
    assert RECENT + 10 not in ids and -1 not in ids


HOSTILE_IDS = [
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "a/b",
    "x\x00y",
    "ü" * 300,
    " ",
    "run.json",
    "-rf",
    "CON\n",
]


@pytest.mark.parametrize("id", HOSTILE_IDS)
def test_a_hostile_run_id_is_a_folder_below_the_folder_of_runs(id: str, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    receiver = Receiver(root)
    send(receiver, traces(span(1), rl__run__id=id))
    receiver.close()
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    (folder,) = (path for path in root.iterdir() if path.is_dir())
    assert re.fullmatch(r"[\w@+.-]{1,120}", folder.name) and (folder / "run.json").is_file()
    assert len(rs.open(root).run(folder.name).sql("SELECT id FROM spans")["id"]) == 1


def test_without_a_run_id_a_service_is_a_run(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path)
    send(receiver, traces(span(1), service__name="vllm"))
    send(receiver, traces(span(2), service__name="vllm"))
    send(receiver, traces(span(3)))
    receiver.close()
    names = sorted(json.loads((path / "run.json").read_text())["name"] for path in tmp_path.iterdir() if path.is_dir())
    assert names == ["otlp", "vllm"]


def test_a_run_that_is_recorded_by_others_gets_spans_and_keeps_its_own(tmp_path: Path) -> None:
    code = """
import rollscope, sys
with rollscope.init(id="r", dir=sys.argv[1], project="p", host=False) as run:
    run.log({"a": 1.0}, step=3)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=120)
    before = (tmp_path / "r" / "run.json").read_bytes()
    receiver = Receiver(tmp_path)
    send(receiver, traces(span(1), rl__run__id="r"))
    receiver.close()
    run = rs.open(tmp_path).run("r")
    assert series(run, "a") == {3: 1.0} and len(run.sql("SELECT id FROM spans")["id"]) == 1
    assert run.record()["project"] == "p" and (tmp_path / "r" / "run.json").read_bytes() == before


def test_bombs_and_bodies_of_any_other_kind_are_refused_with_a_sentence(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path)
    good = json.dumps(traces(span(1), rl__run__id="r")).encode()
    cases = [
        (gzip.compress(b" " * (LARGEST + 1)), "application/json", "gzip", "unpacks to more than"),
        (gzip.compress(good)[:-20], "application/json", "gzip", "in the middle of its gzip data"),
        (good, "application/json", "gzip", "cannot be unpacked"),
        (good, "application/json", "br", "expected gzip"),
        (good, "text/plain", "", "expected application/x-protobuf"),
        (good, "application/x-protobuf", "", "no protobuf message"),
        (b"{" * 100_000, "application/json", "", "not JSON"),
        (b"[" * 100_000, "application/json", "", "not JSON"),
        (b"[]", "application/json", "", "no batch of traces"),
        (b'{"resourceSpans": 3}', "application/json", "", "no batch of traces"),
    ]
    for body, kind, encoding, says in cases:
        with pytest.raises(RollscopeError, match=re.escape(says)):
            receiver.take("traces", kind, encoding, body)
    receiver.take("traces", "application/json", "gzip", gzip.compress(good))
    receiver.close()
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["r"]


def test_odd_shapes_inside_a_batch_are_left_out_and_never_fail(tmp_path: Path) -> None:
    receiver = Receiver(tmp_path)
    odd: list[Any] = [None, 3, "x", [], {}, {"resource": 3}, {"resource": {"attributes": 3}, "scopeSpans": 3}]
    odd += [
        {"scopeSpans": [{"spans": [None, 3, {"spanId": {}}, {**span(5), "attributes": [{"key": 3}, 4], "events": 3}]}]}
    ]
    deep: Any = {"stringValue": "x"}
    for _ in range(200):
        deep = {"arrayValue": {"values": [deep]}}
    odd += [{"scopeSpans": [{"spans": [{**span(6), "attributes": [{"key": "deep", "value": deep}]}]}]}]
    send(receiver, {"resourceSpans": odd})
    receiver.close()
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert sorted(rs.open(tmp_path).run(folder.name).sql("SELECT id FROM spans")["id"].tolist()) == [5, 6]


@pytest.mark.parametrize("command", [("serve", "--no-browser"), ("otlp",)], ids=lambda words: words[0])
def test_the_server_refuses_what_it_refuses_elsewhere(command: tuple[str, ...], tmp_path: Path) -> None:
    body = json.dumps(traces(span(1), rl__run__id="r")).encode()
    with serving(tmp_path, *command) as url:
        assert post(f"{url}/v1/traces", body) == (200, {})
        assert post(f"{url}/v1/traces", body, host="evil.example")[0] == 403
        assert post(f"{url}/v1/traces", body, origin="http://evil.example")[0] == 403
        assert b"413" in head_alone(url, 5 << 20)  # it is refused before its body is read
        status, said = post(f"{url}/v1/traces", gzip.compress(b" " * (LARGEST + 1)), content_encoding="gzip")
        assert status == 413 and "unpacks to more than" in said["says"]
        assert post(f"{url}/v1/profiles", body)[0] == 400
        assert post(f"{url}/v1/traces", b"nonsense")[0] == 400
    assert rs.open(tmp_path).run("r").sql("SELECT id FROM spans")["id"].tolist() == [1]


def test_two_receivers_of_one_folder_do_not_touch_each_other(tmp_path: Path) -> None:
    one, two = Receiver(tmp_path), Receiver(tmp_path)
    for i in range(1, 6):
        send(one, traces(span(2 * i), rl__run__id="r"))
        send(two, traces(span(2 * i + 1), rl__run__id="r"))
    one.close(), two.close()
    assert sorted(rs.open(tmp_path).run("r").sql("SELECT id FROM spans")["id"].tolist()) == list(range(2, 12))


def test_a_call_of_a_tool_without_an_id_is_of_no_message(tmp_path: Path) -> None:
    call = {"gen_ai__prompt__0__tool_calls__0__id": "", "gen_ai__prompt__0__tool_calls__0__name": "evil"}
    said = {
        "gen_ai__prompt__1__role": "user",
        "gen_ai__prompt__1__content": "hi",
        "gen_ai__prompt__0__role": "assistant",
    }
    receiver = Receiver(tmp_path)
    send(
        receiver, traces(span(1, attributes=listed(agentlightning__rollout_id="ro-1", **call, **said)), rl__run__id="r")
    )
    receiver.close()
    rows = records(rs.open(tmp_path).run("r").sql("SELECT role, tool, content FROM turns"))
    assert [tuple(row.values()) for row in rows] == [("user", None, "hi")]


def test_rewards_of_agent_lightning_before_0_3_and_without_a_rollout(tmp_path: Path) -> None:
    old = span(1, attributes=listed(agentlightning__rollout_id="ro-1", reward=0.5), name="agentlightning.annotation")
    new = span(2, attributes=listed(agentlightning__reward__0__value=0.25), parentSpanId="ab" * 8)
    receiver = Receiver(tmp_path)
    send(receiver, traces(old, new, rl__run__id="r"))
    receiver.close()
    rows = records(rs.open(tmp_path).run("r").sql("SELECT id, reward FROM samples ORDER BY reward"))
    assert [tuple(row.values()) for row in rows] == [("ab" * 8, 0.25), ("ro-1", 0.5)]


def test_an_empty_id_of_a_rollout_is_none(tmp_path: Path) -> None:
    """Agent-Lightning's resource between two rollouts."""
    receiver = Receiver(tmp_path)
    send(receiver, traces(span(1), rl__run__id="r", agentlightning__rollout_id=""))
    receiver.close()
    run = rs.open(tmp_path).run("r")
    assert len(run.samples()["id"]) == 0 and run.sql("SELECT id FROM spans")["id"].tolist() == [1]


AGENT = [
    {**span(1), "name": "openai.chat.completion", "attributes": listed(
        gen_ai__prompt__0__role="user", gen_ai__prompt__0__content="hi", gen_ai__completion__0__role="assistant",
        gen_ai__completion__0__content="hello", gen_ai__completion__0__finish_reason="stop")},
    {**span(2), "name": "agentlightning.annotation", "attributes": listed(
        agentlightning__reward__0__name="main", agentlightning__reward__0__value=0.75,
        agentlightning__reward__1__name="format", agentlightning__reward__1__value=1.0)},
]  # fmt: skip


def test_the_file_of_a_collector_is_imported_and_followed_and_damage_costs_a_line(
    tmp_path: Path, imported: Any
) -> None:
    file = tmp_path / "traces.jsonl"
    resource = {"service__name": "agent", "agentlightning__rollout_id": "ro-1", "agentlightning__attempt_id": "at-1"}
    lines = [json.dumps(traces(*AGENT, **resource)), '{"resourceSpans": [', json.dumps({"other": 1})]
    file.write_text("\n".join([*lines, json.dumps(traces(span(9), service__name="agent")), '{"resourceSp']))
    report = imported.take(file)
    assert report.files[str(file)] == "otlp" and len(report.skipped) == 3
    run = imported.run()
    assert recorded(run) == held("agentlightning", SENT) - {"tokens", "log-probabilities"}  # its file has none
    (sample,) = records(run.sql("SELECT * FROM samples"))
    assert (sample["id"], sample["prompt"], sample["completion"], sample["reward"]) == ("ro-1", "hi", "hello", 0.75)
    assert json.loads(sample["rewards"]) == {"main": 0.75, "format": 1.0} and sample["stop_reason"] == "stop"
    assert sorted(run.sql("SELECT id FROM spans")["id"].tolist()) == [1, 2, 9]
    with file.open("a") as more:
        more.write('ans": []}\n' + json.dumps(traces(span(10), service__name="agent")) + "\n")
    imported.take(file)
    assert sorted(imported.run().sql("SELECT id FROM spans")["id"].tolist()) == [1, 2, 9, 10]
    file.write_text(json.dumps(traces(span(11), service__name="agent")) + "\n")
    assert any("rewritten" in str(skipped) for skipped in imported.take(file).skipped)
    assert imported.run().sql("SELECT id FROM spans")["id"].tolist() == [11]
