"""The body of a request as a batch: JSON or protobuf, perhaps compressed, of limited size."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from rollscope.errors import BadInput

from .batch import SIGNALS

LARGEST = 64 << 20  # bytes of a body once it is unpacked
JSON, PROTOBUF = "application/json", "application/x-protobuf"
MESSAGES = {"traces": ("trace", "Trace"), "metrics": ("metrics", "Metrics"), "logs": ("logs", "Logs")}
IDS = ("traceId", "spanId", "parentSpanId")
REJECTED = {"traces": "rejectedSpans", "metrics": "rejectedDataPoints", "logs": "rejectedLogRecords"}


class Unsupported(BadInput):
    status = 415


class TooLarge(BadInput):
    status = 413


def unpacked(body: bytes, encoding: str) -> bytes:
    """The body without its compression. A small body that unpacks to a large one is refused."""
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise Unsupported(f"the body is compressed with {encoding[:40]!r}; expected gzip, deflate or none.")
    reader = zlib.decompressobj(wbits=47)  # finds out which of the two it is
    try:
        data = reader.decompress(body, LARGEST + 1)
    except zlib.error as error:
        raise BadInput(f"the body cannot be unpacked as {encoding} ({error}). Send it again.") from None
    if len(data) > LARGEST:
        raise TooLarge(f"the body unpacks to more than {LARGEST:,} bytes. Send smaller batches.")
    if not reader.eof:
        raise BadInput(f"the body ends in the middle of its {encoding} data. Send it again.")
    return data


def batch_of(signal: str, body: bytes, content_type: str) -> Any:
    """The batch in a body, in the shape of OTLP's JSON."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON:
        return _of_json(signal, body)
    if kind == PROTOBUF:
        return _of_protobuf(signal, body)
    raise Unsupported(f"the body is {kind[:80]!r}; expected {PROTOBUF} or {JSON}.")


def _of_json(signal: str, body: bytes) -> Any:
    try:
        batch = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the body is not JSON ({str(error)[:200]}).") from None
    key = SIGNALS[signal][0]
    if not isinstance(batch, dict) or not isinstance(batch.get(key, []), list):
        raise BadInput(f"the body is no batch of {signal}: expected an object with a list {key!r}.")
    return batch


def _message(signal: str, end: str) -> Any:
    import importlib

    folder, name = MESSAGES[signal]
    try:
        module = importlib.import_module(f"opentelemetry.proto.collector.{folder}.v1.{folder}_service_pb2")
    except ImportError:
        raise Unsupported(
            "this server cannot read protobuf: opentelemetry-proto is not installed. Install rollscope[otlp],"
            " or send JSON (OTEL_EXPORTER_OTLP_PROTOCOL=http/json)."
        ) from None
    return getattr(module, f"Export{name}Service{end}")()


def _of_protobuf(signal: str, body: bytes) -> Any:
    request = _message(signal, "Request")
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError

    try:
        request.ParseFromString(body)
        batch = MessageToDict(request, use_integers_for_enums=True)
    except (DecodeError, ValueError, RecursionError) as error:
        raise BadInput(f"the body is no protobuf message of {signal} ({str(error)[:200]}).") from None
    return _with_hexadecimal_ids(batch)


def _with_hexadecimal_ids(batch: Any) -> Any:
    """Protobuf's JSON spells bytes in base 64; OTLP's spells ids in hexadecimal digits."""
    todo = [batch]
    while todo:
        one = todo.pop()
        if isinstance(one, dict):
            for name in IDS:
                if isinstance(one.get(name), str):
                    one[name] = base64.b64decode(one[name]).hex()
            todo += one.values()
        elif isinstance(one, list):
            todo += one
    return batch


def answer(signal: str, content_type: str, refused: int, why: str) -> tuple[bytes, str]:
    """The body that says what was taken, in the format of the request."""
    kind = content_type.partition(";")[0].strip().lower()
    partial = {"partialSuccess": {REJECTED[signal]: str(refused), "errorMessage": why}} if refused else {}
    if kind == JSON:
        return json.dumps(partial).encode(), JSON
    from google.protobuf.json_format import ParseDict

    return ParseDict(partial, _message(signal, "Response")).SerializeToString(), PROTOBUF
