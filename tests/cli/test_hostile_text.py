"""Names and texts of a run are untrusted: no command obeys them or crashes on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main

ODD = "\x1b]0;owned\x07\x1b[31m[bold]\0\r\u202e\ud800"  # a title, a colour, markup, half a character
OBEYED = ("\x1b]0", "\x07", "\x1b[31m", "\0", "\r")


def odd_sample(step: int, k: int) -> dict[str, Any]:
    texts = {"id": f"{step}{k}{ODD}", "group": f"g{ODD}", "completion": f"c{ODD}", "stop_reason": ODD}
    return {**texts, "reward": float(k + step)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    for id in ("one", "two"):
        texts = {"name": f"n{ODD}", "project": f"p{ODD}", "config": {f"k{ODD}": id + ODD}, "tags": [ODD]}
        with rs.init(id=id, dir=path, host=False, **texts) as run:
            for step in range(20):
                run.log({f"m/{ODD}": float(step) if id == "one" else 0.0}, step=step)
            for step in range(2):
                run.log_samples([odd_sample(step, k) for k in range(4)], step=step)
            run.note(f"said {ODD}")
            run.log_span(ODD, 1, 2, lane=ODD)
    return path


COMMANDS = [
    ["ls"],
    ["show", "one"],
    ["samples", "one"],
    ["sql", "select * from runs"],
    ["sql", "select * from samples"],
    ["sql", "select distinct name from metrics"],
    ["doctor", "one"],
    ["compare", "one", "two"],
    ["why", "one", "reward/mean", "1"],
    *(["export", "one", "--format", format] for format in ("parquet", "csv", "jsonl", "tensorboard", "chrome")),
    ["compact", "one"],
]


@pytest.mark.parametrize("json_wanted", [False, True], ids=["words", "json"])
@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_no_command_obeys_hostile_text_or_crashes_on_it(
    runs: Path, tmp_path: Path, capfdbinary: Any, argv: list[str], json_wanted: bool
) -> None:
    if "tensorboard" in argv:
        pytest.importorskip("tensorboard")
    out = ["--out", str(tmp_path / "out")] if argv[0] == "export" else []
    assert main([*argv, "--dir", str(runs), *out, *(["--json"] if json_wanted else [])]) in (0, 1)
    printed = capfdbinary.readouterr().out.decode()  # always valid UTF-8
    if json_wanted:
        lines = printed.splitlines() if argv[0] == "samples" else [printed]
        assert all(json.loads(line, parse_constant=pytest.fail) is not None for line in lines)
    else:
        assert "\u202e" not in printed
    assert [word for word in OBEYED if word in printed] == []
