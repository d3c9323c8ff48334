"""What goes over the pipes: a head in JSON and a body of bytes, each with its length in front."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import IO, Any

LENGTHS = struct.Struct("<IQ")
Head = dict[str, Any]


def send(pipe: IO[bytes], head: Mapping[str, Any], body: bytes | memoryview = b"") -> None:
    text = json.dumps(head).encode()  # ASCII: a lone surrogate travels as its escape
    pipe.write(LENGTHS.pack(len(text), len(body)) + text)
    pipe.write(body)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Head | None:
    """The next head, of a frame without a body; None if the sender has gone."""
    lengths = pipe.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        return None
    head: Head = json.loads(pipe.read(LENGTHS.unpack(lengths)[0]))
    return head
