"""What OpenTelemetry's SDK makes of calls, links and tools, received and read from files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, Tracer

from rollscope.sources.intake.importer import Importer
from rollscope.sources.otlp.body import PROTOBUF, batch_of
from rollscope.sources.otlp.receiver import Receiver
from rollscope.store import store as rs
from rollscope.views.timeline.span import span_of
from tests.sources.test_otlp import records

ABOUT = Resource.create({"service.name": "agent", "rl.run.id": "r"})


def sent(make: Callable[[Tracer], None]) -> bytes:
    """The body that an exporter of the SDK sends of the spans that are made."""
    kept, provider = InMemorySpanExporter(), TracerProvider(resource=ABOUT)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    make(provider.get_tracer("test"))
    return bytes(encode_spans(kept.get_finished_spans()).SerializeToString())


def line(body: bytes) -> str:
    """The body as a collector writes it to a file."""
    return json.dumps(batch_of("traces", body, PROTOBUF)) + "\n"


@contextmanager
def received(root: Path, *bodies: bytes, signal: str = "traces") -> Iterator[Any]:
    receiver = Receiver(root)
    for body in bodies:
        receiver.take(signal, PROTOBUF, "", body)
    receiver.close()
    yield rs.open(root).run("r")


def call(tracer: Tracer, **about: Any) -> None:
    same = {"gen_ai.operation.name": "chat", "rl.sample.id": "s1"}
    with tracer.start_as_current_span("chat", attributes={**same, **about}):
        pass


ASKED = {"role": "user", "parts": [{"type": "text", "content": "2 + 2 and 3 + 3?"}]}
CALLS = [
    {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 2}},
    {"type": "tool_call", "id": "c2", "name": "add", "arguments": '{"a": 3}'},
]
ANSWERS = [
    {"type": "tool_call_response", "id": "c1", "response": "4"},
    {"type": "tool_call_response", "id": "c2", "response": {"sum": 6}},
]
OPENAI = [{"id": one["id"], "type": "function", "function": one} for one in CALLS]
PARTS = (  # OpenTelemetry's messages
    {
        "gen_ai.input.messages": json.dumps([ASKED]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": CALLS, "finish_reason": "tool_call"}]),
    },
    {
        "gen_ai.input.messages": json.dumps(
            [ASKED, {"role": "assistant", "parts": CALLS}, {"role": "tool", "parts": ANSWERS}]
        ),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "4, 6"}]}]),
    },
)
BESIDE = (  # OpenAI's messages in the same attributes
    {
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": "2 + 2 and 3 + 3?"}]),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "content": None, "tool_calls": OPENAI, "finish_reason": "tool_calls"}]
        ),
    },
    {
        "gen_ai.input.messages": json.dumps(
            [
                {"role": "user", "content": "2 + 2 and 3 + 3?"},
                {"role": "assistant", "content": None, "tool_calls": OPENAI},
                {"role": "tool", "content": "4", "tool_call_id": "c1"},
                {"role": "tool", "content": '{"sum": 6}', "tool_call_id": "c2"},
            ]
        ),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "4, 6"}]),
    },
)


def _numbered(kind: str, at: int) -> dict[str, Any]:
    listed = [
        (i, one["id"], json.dumps(one["arguments"]) if i == 0 else one["arguments"]) for i, one in enumerate(CALLS)
    ]
    named = [(i, {"id": id, "name": "add", "arguments": given}) for i, id, given in listed]
    return {f"{kind}.{at}.tool_calls.{i}.{key}": value for i, one in named for key, value in one.items()}


OPENLLMETRY = (
    {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "2 + 2 and 3 + 3?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.finish_reason": "tool_calls",
        **_numbered("gen_ai.completion", 0),
    },
    {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "2 + 2 and 3 + 3?",
        "gen_ai.prompt.1.role": "assistant",
        **_numbered("gen_ai.prompt", 1),
        "gen_ai.prompt.2.role": "tool",
        "gen_ai.prompt.2.content": "4",
        "gen_ai.prompt.2.tool_call_id": "c1",
        "gen_ai.prompt.3.role": "tool",
        "gen_ai.prompt.3.content": '{"sum": 6}',
        "gen_ai.prompt.3.tool_call_id": "c2",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "4, 6",
    },
)
WRITTEN = 'add({"a": 2})\nadd({"a": 3})'
TURNS = [  # role, content, tool, arguments, result
    ("user", "2 + 2 and 3 + 3?", None, None, None),
    ("assistant", None, None, WRITTEN, None),
    ("tool", "4", "add", '{"a": 2}', "4"),
    ("tool", '{"sum": 6}', "add", '{"a": 3}', '{"sum": 6}'),
    ("assistant", "4, 6", None, None, None),
]


def turns(run: Any) -> list[dict[str, Any]]:
    return records(run.sql("SELECT * FROM turns ORDER BY turn"))


@pytest.mark.parametrize("calls", [PARTS, BESIDE, OPENLLMETRY], ids=["parts", "beside", "openllmetry"])
def test_a_message_that_only_calls_tools_holds_its_calls_and_no_words(calls: Any, tmp_path: Path) -> None:
    with received(tmp_path, *(sent(lambda tracer, one=one: call(tracer, **one)) for one in calls)) as run:  # type: ignore[misc]
        rows = turns(run)
        names = ("role", "content", "tool", "arguments", "result")
        assert [tuple(row[name] for name in names) for row in rows] == TURNS
        assert rows[1]["stop_reason"] == "tool"
        (sample,) = records(run.sql("SELECT * FROM samples"))
        assert (sample["prompt"], sample["completion"]) == ("2 + 2 and 3 + 3?", "4, 6")


def test_a_sample_that_ends_with_calls_of_tools_keeps_its_words(tmp_path: Path) -> None:
    said = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": ["I add.", CALLS[0]]}])}
    only = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [CALLS[1]]}])}
    with received(tmp_path, *(sent(lambda tracer, one=one: call(tracer, **one)) for one in (said, only))) as run:  # type: ignore[misc]
        assert [(row["content"], row["arguments"]) for row in turns(run)] == [
            ("I add.", 'add({"a": 2})'),
            (None, 'add({"a": 3})'),
        ]
        assert run.samples()["completion"].tolist() == ["I add."]


def test_an_event_that_only_calls_tools_holds_its_calls(tmp_path: Path) -> None:
    kept, provider = InMemoryLogRecordExporter(), LoggerProvider(resource=ABOUT)
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    body = {"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": OPENAI}}
    about = {"rl.sample.id": "s1"}
    record = LogRecord(timestamp=10**18, body=body, attributes=about, event_name="gen_ai.choice")
    provider.get_logger("test").emit(record)
    sent = bytes(encode_logs(kept.get_finished_logs()).SerializeToString())
    with received(tmp_path, sent, signal="logs") as run:
        (turn,) = turns(run)
        assert (turn["role"], turn["content"], turn["arguments"]) == ("assistant", None, WRITTEN)
        assert turn["stop_reason"] == "tool"


def test_links_are_causes_of_a_span_and_their_attributes_are_kept(tmp_path: Path) -> None:
    def make(tracer: Tracer) -> None:
        with tracer.start_as_current_span("generate 1") as one:
            pass
        with tracer.start_as_current_span("generate 2") as two:
            pass
        links = [
            Link(one.get_span_context(), {"queue": "a"}),
            Link(two.get_span_context()),
            Link(two.get_span_context()),
        ]
        with tracer.start_as_current_span("train", links=links):
            pass

    with received(tmp_path, sent(make)) as run:
        spans = {row["name"]: row for row in records(run.sql("SELECT * FROM spans"))}
        causes = json.loads(spans["train"]["causes"])
        assert causes == [str(spans[name]["id"]) for name in ("generate 1", "generate 2")]
        (link,) = json.loads(spans["train"]["data"])["links"]
        assert link["queue"] == "a" and int(link["span"], 16) & (2**63 - 1) == spans["generate 1"]["id"]
        key = f"{spans['train']['writer']}:{spans['train']['id']}"
        assert {one["name"] for one in span_of(run, key)["causes"]} == {"generate 1", "generate 2"}
        (effect,) = span_of(run, f"{spans['generate 1']['writer']}:{spans['generate 1']['id']}")["effects"]
        assert effect["name"] == "train"


@pytest.mark.parametrize("is_followed", [False, True], ids=["imported again", "followed"])
def test_a_span_that_a_file_repeats_after_an_import_is_taken_once(is_followed: bool, tmp_path: Path) -> None:
    """With its turns: those of a sample go on where the earlier ones ended."""
    first, second = (line(sent(lambda tracer, one=one: call(tracer, **one))) for one in PARTS)  # type: ignore[misc]
    alone = line(sent(lambda tracer: tracer.start_span("work").end()))
    file, importer = tmp_path / "traces.jsonl", Importer(tmp_path / "runs", live=is_followed)
    for text in (first + alone, first, alone + second + first, second):
        with file.open("a") as growing:
            growing.write(text)
        if not is_followed:
            importer.close()
            importer = Importer(tmp_path / "runs")
        assert not importer.take([file]).skipped
    importer.close()
    run = rs.open(tmp_path / "runs").run("r")
    assert len(run.sql("SELECT id FROM spans")["id"]) == 3
    assert [row["turn"] for row in turns(run)] == [0, 1, 2, 3, 4]


def test_what_a_file_had_is_said_once_and_a_run_that_lacks_it_gets_it(tmp_path: Path, imported: Any) -> None:
    """A run whose rows were removed gets all of them again; the other gets nothing twice."""
    texts = [line(sent(lambda tracer: tracer.start_span("work").end())) for _ in range(4)]
    other = [text.replace('"stringValue": "r"', '"stringValue": "other"') for text in texts]
    file = tmp_path / "traces.jsonl"
    file.write_text(texts[0] + '{"no": "batch"}\n' + other[1])
    assert len(imported.take(file).skipped) == 1
    for path in (imported.root / "other").iterdir():
        path.unlink()
    with file.open("a") as growing:
        growing.write(texts[2] + other[3])
    assert not imported.take(file).skipped
    found = {id: len(rs.open(imported.root).run(id).sql("SELECT id FROM spans")["id"]) for id in ("r", "other")}
    assert found == {"r": 2, "other": 2}


@pytest.mark.parametrize("depth", [450, 900, 100_000])
def test_a_message_that_is_nested_too_deeply_stays_a_text(depth: int, tmp_path: Path) -> None:
    nested = '[{"role": "user", "content": ' + "[" * depth + '"x"' + "]" * depth + "}]"

    def make(tracer: Tracer) -> None:
        for text in (nested, '[{"role": "user", "content": "more"}]'):
            call(tracer, **{"rl.sample.id": "s", "gen_ai.input.messages": text})

    with received(tmp_path, sent(make)) as run:
        contents = [turn["content"] for turn in turns(run)]
    assert nested in contents and "more" in contents
