"""Blocks of a log that are whole, checksum and all, and odd: each a function of the run's writer.

Some say something that no version writes, and cost themselves. Others are unusual and true, and
every reader shows them. `good` rows stand before and behind each of them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rollscope.catalog.partials.partial import Mean
from rollscope.store.log import block
from rollscope.store.log.frame import padded
from rollscope.store.schema import TABLES
from tests.store.conftest import T0, Writer

MOST, LEAST = 2**63 - 1, -(2**63)
MEGABYTES = "m" * 3_000_000
Odd = Callable[[Writer], object]
LABELS = {"attempt": 1, "rank": 0, "env": None, "split": "train", "clock": None}
SAMPLE = {"id": "odd", "step": 3, "time_ns": T0, "reward": 1.0, "completion": "odd"}


def good_rows(writer: Writer, step: int) -> None:
    """A row of everything."""
    writer.metrics(step, {"good": float(step), "parts": Mean(1.0, 2.0)})
    same = {"step": step, "time_ns": T0 + step}
    texts = {"prompt": "2+2?", "completion": "good", "stop_reason": "stop"}
    shapes = {"rewards": {"format": 1.0}, "sample_metrics": {"m": 1.0}, "tags": ["t"], "extra": {"k": 1}}
    writer.rows(
        "samples",
        [
            {"id": f"s{step}{i}", "group": f"g{step}", "task": "t", "reward": float(i), "completion_tokens": 3}
            | {"advantage": 0.5, "trained": True, **texts, **shapes, **same}
            for i in "01"
        ],
    )
    writer.rows("turns", [{"sample": f"s{step}0", "turn": 0, "role": "assistant", "content": "good", **same}])
    span = {"id": step, "name": "generate", "lane": "trainer/0", "kind": "work", "step": step}
    writer.rows("spans", [{**span, "start_ns": T0 + step * 10**9, "end_ns": T0 + step * 10**9 + 10**8}])
    writer.rows("evals", [{"set": "e", "task": "t", "repeat": 0, "scores": {"acc": 1.0}, "failed": False, **same}])
    writer.rows("notes", [{"text": f"good {step}", "kind": "note", **same}])
    writer.rows("host", [{"host": "h", "device": "cpu", "name": "load", "value": 1.0, "time_ns": T0 + step}])
    writer.rows("steps", [{**same, "end_ns": T0 + step + 1, "tokens": step * 100}])


def raw(head: Any, parts: tuple[bytes, ...] = ()) -> Odd:
    """A block with any head."""
    return lambda writer: writer.log.append([block.pack(head, parts)])


def payload(data: bytes) -> Odd:
    return lambda writer: writer.log.append([padded(data)])


def head_text(text: str) -> Odd:
    return payload(struct.pack("<I", len(text.encode())) + text.encode())


def wide(values: int = 1, **changes: Any) -> Odd:
    rows = np.array([(3, T0, [1.0] * values)], block.row_type(values)).tobytes()
    head = {"block": "metrics", "layout": "wide", "rows": 1, "names": ["odd"] * values, "kinds": None, **LABELS}
    return raw({**head, **changes}, (rows,))


def long(index: list[int], parts: int = 4, **changes: Any) -> Odd:
    n = len(index)
    arrays = (np.full(n, 3), np.full(n, T0), np.array(index, "<u4"), np.ones(n))
    head = {"block": "metrics", "layout": "long", "rows": n, "names": ["odd"], "kinds": None, **LABELS}
    return raw({**head, **changes}, tuple(array.tobytes() for array in arrays[:parts]))


def partial(kind: str, states: list[float], lengths: list[int], weight: float = 1.0) -> Odd:
    """Two values of one name and step, so that a reader must add them."""
    partials = block.Partials([weight] * len(lengths), lengths, states)
    values = block.Values([3] * len(lengths), [T0] * len(lengths), [0] * len(lengths), [1.0] * len(lengths))
    return lambda writer: writer.log.append([block.long(["odd"], [kind], values, block.Labels(), partials)])


def at(step: int, time_ns: int = T0, name: str = "odd", **labels: Any) -> Odd:
    return lambda writer: writer.metrics(step, {name: 1.0, "second": Mean(1.0, 2.0)}, time_ns, **labels)


def table(name: str, *rows: Mapping[str, Any]) -> Odd:
    return lambda writer: writer.rows(name, rows)


def columns(name: str, rows: Any, *given: list[Any], parts: tuple[bytes, ...] = ()) -> Odd:
    return raw({"block": "table", "table": name, "rows": rows, "columns": list(given)}, parts)


def const(name: str, type_: str, value: Any) -> list[Any]:
    return [name, type_, "const", 0, value]


I8 = np.array([1, 2], "<i8").tobytes()
U4 = np.array([1, 1], "<u4").tobytes()
IDS = [["id", "string", "plain", 2]]

NOT_UNDERSTOOD: dict[str, Odd] = {  # costs its block, which is reported as damage
    "no head at all": payload(b""),
    "a head longer than the block": payload(struct.pack("<I", 10**9)),
    "a head that is no JSON": head_text("{not json"),
    "a head that is not UTF-8": payload(struct.pack("<I", 4) + b"\xff\xfe\xff\xfe"),
    "a head that is a list": head_text("[1, 2]"),
    "a head nested without end": head_text("[" * 200_000 + "]" * 200_000),
    "a head with a number of a million digits": head_text('{"block": ' + "9" * 1_000_000 + "}"),
    "parts that are no list": head_text('{"block": "meta", "what": "x", "facts": {}, "parts": 7}'),
    "parts of negative length": head_text(
        '{"block": "table", "table": "notes", "rows": 0, "columns": [], "parts": [-8]}'
    ),
    "a block of an unknown kind": raw({"block": "video", "rows": 1}),
    "a block without a kind": raw({"rows": 1}),
    "a table that does not exist": columns("videos", 1, const("id", "string", "x")),
    "a table that is a list": columns(["notes"], 1, const("text", "string", "x")),  # type: ignore[arg-type]
    "facts that are a list": raw({"block": "meta", "what": "open", "facts": [1, 2]}),
    "an end without facts": raw({"block": "meta", "what": "end", "facts": None}),
    "a kind of facts that is a number": raw({"block": "meta", "what": 7, "facts": {}}),
    "names that are numbers": wide(names=[7]),
    "names that are a text": wide(names="o"),
    "more names than values": wide(names=["a", "b"]),
    "kinds that are a number": wide(kinds=7),
    "fewer kinds than names": wide(2, kinds=["scalar"]),
    "a kind that is null": wide(kinds=[None]),
    "rows that are a text": wide(rows="1"),
    "rows below zero": wide(rows=-1),
    "more rows than bytes": wide(rows=10**12),
    "a layout of another version": wide(layout="diagonal"),
    "an attempt that is a text": wide(attempt="first"),
    "an attempt beyond 64 bits": wide(attempt=2**70),
    "the highest attempt": wide(attempt=MOST),
    "a negative attempt": wide(attempt=-5),
    "a negative rank": wide(rank=-3),
    "the highest rank": wide(rank=MOST),
    "a rank that is null": wide(rank=None),
    "a rank that is a list": wide(rank=[0]),
    "an environment that is a number": wide(env=1),
    "an environment that is a mapping": wide(env={"a": 1}),
    "a split that is a list": wide(split=["train"]),
    "a clock that is a number": wide(clock=3),
    "a long block whose index leaves its names": long([0, 1]),
    "a long block without values": long([0], parts=3),
    "a long block of wrong length": long([0], rows=7),
    "states that are too short": partial("mean", [1.0], [2, 2]),
    "states that are too long": partial("mean", [1.0] * 9, [2, 2]),
    "means of three numbers": partial("mean", [1.0] * 6, [3, 3]),
    "means of different lengths": partial("mean", [1.0] * 3, [1, 2]),
    "an integer of one number": partial("int", [1.0], [1]),
    "integers of one number": partial("int", [1.0, 2.0], [1, 1]),
    **{f"{kind} of one number": partial(kind, [1.0, 2.0], [1, 1]) for kind in ("counter", "last", "extremes", "std")},
    "means of no number": partial("mean", [], [0, 0]),
    "rows of a table below zero": columns("notes", -1, const("text", "string", "x")),
    "rows of a table that are a text": columns("notes", "2", const("text", "string", "x")),
    "a table of a trillion rows": columns("notes", 10**12, const("text", "string", "x")),
    "columns that are a mapping": raw({"block": "table", "table": "notes", "rows": 1, "columns": {"text": 1}}),
    "a column without parts": columns("samples", 2, *IDS),
    "a column of an unknown type": columns("notes", 2, ["text", "emoji", "plain", 1], parts=(I8,)),
    "a column of an unknown encoding": columns("notes", 2, ["text", "string", "zip", 1], parts=(I8,)),
    "steps that are texts": columns("notes", 2, ["step", "string", "plain", 2], parts=(U4, b"ab")),
    "texts that are numbers": columns("notes", 2, ["text", "int64", "plain", 1], parts=(I8,)),
    "fewer numbers than rows": columns("notes", 3, ["step", "int64", "plain", 1], parts=(I8,)),
    "more numbers than rows": columns("notes", 1, ["step", "int64", "plain", 1], parts=(I8,)),
    "fewer nulls than rows": columns("notes", 2, ["step", "int64", "plain", 2], parts=(I8, b"\x01")),
    "texts that reach beyond their bytes": columns("notes", 2, ["text", "string", "plain", 2], parts=(U4, b"a")),
    "texts that are not UTF-8": columns("notes", 2, ["text", "string", "plain", 2], parts=(U4, b"\xff\xfe")),
    "a word that is not in its list": columns(
        "notes", 2, ["kind", "string", "dict", 3], parts=(np.array([0, 9], "<u4").tobytes(), U4[:4], b"a")
    ),
    "booleans of another kind": columns("samples", 2, ["trained", "bool", "plain", 1], parts=(b"\x07\x09",)),
    "lists that reach beyond their numbers": columns(
        "samples", 2, ["logp", "float32[]", "plain", 2], parts=(U4, np.ones(1, "<f4").tobytes())
    ),
    "a common step that is a text": columns("notes", 1, const("step", "int64", "soon")),
    "a common step beyond 64 bits": columns("notes", 1, const("step", "int64", 2**64)),
    "a common text that is a mapping": columns("notes", 1, const("text", "string", {"a": 1})),
    "a common list that is nested": columns("samples", 1, const("logp", "float32[]", [[1.0]])),
    "a column twice": columns("notes", 1, const("text", "string", "x"), const("text", "string", "y")),
}

UNUSUAL: dict[str, Odd] = {  # is read
    "a block without rows": columns("notes", 0),
    "metrics without rows": lambda writer: writer.log.append([block.wide(["odd"], None, b"", block.Labels())]),
    "metrics without names": lambda writer: writer.log.append(
        [block.wide([], None, np.array([(3, T0, [])], block.row_type(0)).tobytes(), block.Labels())]
    ),
    "a column of a newer version": columns("notes", 1, const("text", "string", "odd"), const("mood", "string", "calm")),
    "a column of a newer type": columns("notes", 1, const("text", "string", "odd"), const("mood", "emoji", ":)")),
    "a head with more keys": wide(codec="none", more={"a": [None]}),
    "facts of a newer version": raw({"block": "meta", "what": "renewed", "facts": {"lease": None}}),
    "the highest step": at(MOST),
    "the lowest step": at(LEAST),
    "both at once": lambda writer: [at(step)(writer) for step in (LEAST, MOST, -1)],
    "the latest time": at(3, MOST),
    "the earliest time": at(3, LEAST),
    "a name of megabytes": at(3, name=MEGABYTES),
    "an empty name": at(3, name=""),
    "a name of control characters": at(3, name="\0\x1b[31m\n\x1f/\u202e"),
    "a name with a lone surrogate": at(3, name="odd\ud800/\udfff"),
    "a name of slashes": at(3, name="///"),
    "a name twice in one block": wide(2),
    "labels with lone surrogates": at(3, env="\ud800", split="\udfff", clock="\ud801"),
    "labels of megabytes": at(3, env=MEGABYTES, split=MEGABYTES, clock=MEGABYTES),
    "labels with a separator": at(3, env="a\x1fb\x1fc\x1fd", split="\x1f"),
    "empty labels": at(3, env="", split="", clock=""),
    "a kind nobody knows": partial("sketch", [1.0, 2.0], [1, 1]),
    "a kind with a lone surrogate": partial("\ud800", [1.0, 2.0], [1, 1]),
    "means of NaN": partial("mean", [np.nan] * 4, [2, 2], weight=np.nan),
    "a mean of infinite weight": partial("mean", [np.inf, np.inf, -np.inf, -np.inf], [2, 2], weight=np.inf),
    "moments of a negative count": partial("moments", [-1.0, 2.0, -3.0] * 2, [3, 3], weight=-1.0),
    "integers beyond 64 bits": partial("int", [1e300, np.nan] * 2, [2, 2]),
    "plain numbers with states": partial("scalar", [1.0, 2.0], [1, 1]),
    "a histogram of nonsense": partial("histogram", [1.0, np.nan, -5.0] * 2, [3, 3]),
    "groups of nonsense": partial("groups", [1.0, np.nan, -5.0] * 2, [3, 3]),
    "samples without ids": table("samples", {**SAMPLE, "id": None}, {"reward": 1.0}),
    "samples without a column of ids": columns(
        "samples", 2, const("step", "int64", 3), const("reward", "float64", 1.0)
    ),
    "samples without steps": table("samples", {"id": "odd", "reward": 1.0}),
    "an id three times": table("samples", SAMPLE, {**SAMPLE, "reward": 2.0}, {**SAMPLE, "completion": None}),
    "the id of another sample": table("samples", {**SAMPLE, "id": "s10", "step": 1, "completion": "good"}),
    "an empty id": table("samples", {**SAMPLE, "id": ""}),
    "an id of megabytes": table("samples", {**SAMPLE, "id": MEGABYTES}),
    "an id with lone surrogates and separators": table("samples", {**SAMPLE, "id": "\ud800\x1f1/../\n\0"}),
    "samples of the highest and lowest steps": table(
        "samples", {**SAMPLE, "step": MOST}, {**SAMPLE, "id": "odd2", "step": LEAST, "time_ns": LEAST}
    ),
    "samples of infinite rewards": table(
        "samples",
        *({**SAMPLE, "id": f"o{i}", "group": "g", "reward": v} for i, v in enumerate([np.inf, -np.inf, np.nan])),
    ),
    "samples of the largest counts": table(
        "samples", {c.name: MOST if c.type == "int64" else None for c in TABLES["samples"]} | {"id": "odd", "step": 3}
    ),
    "samples with every text odd": table(
        "samples",
        {c.name: "\ud800\0\u202e" for c in TABLES["samples"] if c.type == "string" and c.name not in ("run", "writer")}
        | {"step": 3},
    ),
    **{
        f"samples whose JSON is {said}": table(
            "samples", {**SAMPLE, **{c.name: text for c in TABLES["samples"] if c.type == "json"}}
        )
        for said, text in {
            "broken": "{not json",
            "null": "null",
            "a number": "7",
            "a text": '"x"',
            "a list": "[1, null, {}]",
            "a mapping of nulls": '{"a": null, "": {"b": null}}',
            "a mapping of texts": '{"a": "high", "b": [1], "c": true}',
            "NaN": '{"a": NaN, "b": Infinity, "c": -1e999}',
            "a huge number": '{"a": ' + "9" * 5_000 + "}",
            "nested without end": "[" * 100_000 + "]" * 100_000,
            "empty": "",
            "a lone surrogate": '{"\\ud800": "\\udfff"}',
            "a list of mappings": '[{"kind": 7, "path": null}, {"role": [], "content": {"a": 1}}]',
        }.items()
    },
    "turns of no sample": table("turns", {"turn": 0, "content": "x"}, {"sample": "nobody", "turn": MOST}),
    "turns without numbers": table("turns", {"sample": "s10", "content": None}, {"sample": "s10", "role": ""}),
    "turns twice": table("turns", *[{"sample": "s10", "turn": 0, "content": "good", "step": 1}] * 3),
    "turns of odd texts": table(
        "turns", {"sample": "s10", "turn": -1, "role": "\ud800", "tool": "\0", "arguments": "{", "result": "\u202e"}
    ),
    "spans that end before they begin": table("spans", {"name": "odd", "start_ns": T0 + 9, "end_ns": T0}),
    "spans without times": table("spans", {"name": "odd", "step": 3}, {"name": None, "lane": None, "start_ns": T0}),
    "spans of all time": table("spans", {"id": 1, "name": "odd", "start_ns": LEAST, "end_ns": MOST, "step": MOST}),
    "spans that are their own parents": table(
        "spans", {"id": 77, "parent": 77, "name": "odd", "lane": "l", "start_ns": T0, "end_ns": T0 + 5, "step": 3}
    ),
    "spans of odd words": table(
        "spans", {"name": "\ud800", "lane": "a/" * 500, "kind": "\0", "start_ns": T0, "end_ns": T0 + 5, "data": "{x"}
    ),
    "evaluations without anything": table(
        "evals", {"step": 3}, {"set": "e"}, {"set": "", "task": "\ud800", "step": LEAST}
    ),
    **{
        f"evaluations whose scores are {text}": table("evals", {"set": "odd", "task": "t", "step": 3, "scores": text})
        for text in ("{", "null", "[1]", '"x"', '{"a": null}', '{"a": "b", "c": {"d": 1}}', '{"a": NaN}', "7")
    },
    "evaluations twice": table(
        "evals", *[{"set": "e", "task": "t", "repeat": 0, "step": 1, "scores": {"acc": 1.0}}] * 3
    ),
    "notes without text": table("notes", {"step": 3}, {"text": None, "kind": None}, {"text": "", "kind": "\ud800"}),
    "notes of odd kinds": table("notes", {"text": "x", "kind": "finding", "data": "[1"}, {"text": "y", "kind": "loss"}),
    "losses of nonsense": table(
        "notes", *({"text": "x", "kind": "loss", "step": 3, "data": text} for text in ("7", "null", '{"rows": "many"}'))
    ),
    "hidden findings of nonsense": table(
        "notes", *({"text": "x", "kind": "hidden finding", "data": text} for text in ("7", "[]", '{"rule": 3}', "{"))
    ),
    "host without values": table(
        "host", {"host": None, "device": None}, {"name": "odd", "value": np.inf, "time_ns": MOST}
    ),
    "findings of nonsense": table(
        "findings", {"rule": None, "evidence": "{"}, {"rule": "x", "severity": "loud", "step": MOST}
    ),
    "steps without steps": table("steps", {"tokens": 3}, {"step": LEAST, "end_ns": MOST, "epoch": np.inf}),
    "clocks that fall": table("steps", {"step": 1, "tokens": MOST, "time_ns": MOST}, {"step": 2, "tokens": LEAST}),
    **{
        f"facts that are {said}": table(
            "runs", {"id": "r1", **{c.name: text for c in TABLES["runs"] if c.type == "json"}}
        )
        for said, text in {"broken": "{", "null": "null", "lists": "[1, null]", "numbers": "7", "texts": '"x"'}.items()
    },
    "facts of nested nulls": table(
        "runs", {"config": json.dumps({"a": {"b": None, "": [None]}}), "declared": '{"e": null}'}
    ),
    "declared ranges of nonsense": table(
        "runs",
        {"declared": json.dumps({"e": {"reward_min": "low", "reward_max": None}, "ranges": {"good": [1]}, "": 7})},
    ),
    "a state nobody knows": table("runs", {"state": "dreaming", "steps_planned": LEAST, "started_ns": MOST}),
    "another run's rows": lambda writer: writer.log.append(
        [block.table("notes", [{"text": "odd", "step": 3}], {"run": "another", "writer": "w", "attempt": 1})]
    ),
}
