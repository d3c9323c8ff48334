"""Names and texts of a run are untrusted: no command prints a character that a terminal obeys.

The run's every text holds such characters, and so do names of folders and files.
"""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.visible import visible

FILE = "\x1b]0;owned\x07\x1b[31m[bold]\r\x9b2J\u202e\u2066\u200b\U000e0041\x7f"  # as a file may be named
ODD = f"{FILE}[/x]\0\ud800"
OBEYED = re.compile(b"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")  # in the bytes: C0, DEL, C1
OURS = re.compile(rb"\x1b\[[0-9;]*[mK]|\x1b\[\?25[hl]|\x1b\[\d*[AJG]|\r")  # colours, and redrawing a line


def sample(step: int, k: int) -> dict[str, Any]:
    texts = dict.fromkeys(("prompt", "completion", "answer", "env", "stop_reason", "error"), ODD)
    parts = {"rewards": {ODD: 1.0}, "sample_metrics": {ODD: 2.0}, "extra": {ODD: ODD}}
    calls = {"role": ODD, "tool": ODD, "ok": False, "content": ODD, "arguments": ODD, "result": ODD}
    dropped = {"trained": k > 0, "discard_reason": ODD}
    ids = {"id": f"{step}{k}{ODD}", "group": f"g{ODD}", "task": f"t{ODD}"}
    return {**texts, **parts, **ids, **dropped, "reward": float(k + step), "turns": [calls]}


def record(root: Path, id: str) -> None:
    texts = {"name": f"n{ODD}", "project": f"p{ODD}", "config": {f"k{ODD}": id + ODD}, "tags": [ODD], "group": ODD}
    run = rs.init(id=id, dir=root, host=False, algorithm=ODD, framework="trl:grpo" if id == "one" else ODD, **texts)
    for step in range(40):
        run.log({f"m{ODD}/{ODD}": float(step) if id == "one" else 0.0, f"nan/{ODD}": float("nan")}, step=step)
    for step in range(2):
        run.log_samples([sample(step, k) for k in range(4)], step=step)
    run.note(f"said {ODD}")
    run.log_span(ODD, 1, 2, lane=ODD)
    run.finish("crashed", f"because {ODD}")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for id in ("one", "two", "three"):
        record(root, id)
    (root / "one" / f"{FILE}.log").write_bytes(b"no log at all" * 100)  # damage has a name too
    facts = json.loads((root / "three" / "run.json").read_text())
    (root / "three" / "run.json").write_text(json.dumps({**facts, "id": f"3{FILE}"}))
    (root / "three").rename(root / f"3{FILE}")  # a folder is a run's id
    return root


METRIC = f"m{ODD}/{ODD}"
COMMANDS: list[list[str]] = [
    ["ls"],
    ["show", "one"],
    ["show", f"3{FILE}"],
    ["watch", "one"],
    ["samples", "one"],
    ["samples", "one", "--markdown"],
    ["sql", "select * from runs"],
    ["sql", "select * from samples"],
    ["sql", "select * from turns"],
    ["sql", "select distinct name from metrics"],
    ["sql", "select text, data from notes"],
    ["sql", f'select 1 as "{FILE.replace(chr(34), "")}"'],
    ["doctor", "one"],
    ["doctor", "one", "--all"],
    ["compare", "one", "two", f"3{FILE}"],
    ["why", "one", "reward/mean", "1"],
    ["explain", "actor/ppo_kl", "--dialect", "verl"],
    *(["export", "one", "--format", format] for format in ("parquet", "csv", "jsonl", "tensorboard", "chrome")),
    *(["export", "one", "--format", format, "--dialect", "verl"] for format in ("parquet", "csv", "jsonl")),
    ["compact", "one"],
    ["compact"],
]
MISTAKES: list[list[str]] = [
    ["show", f"no{ODD}"],
    ["show", "one", "--metric", ODD],
    ["samples", "one", "--where", f"x{FILE} = 1"],
    ["sql", f"select {FILE}"],
    ["why", "one", f"x{ODD}", "1"],
    ["explain", f"x{ODD}"],
    ["explain", "loss", "--dialect", ODD],
    ["train", f"no{FILE}.toml"],
    ["import", f"/no/{FILE}"],
    ["run", "--", f"no{FILE}"],
    ["ls", "--limit", ODD],
    ["ls", f"--x{ODD}"],
    ["export", "one", "--table", ODD],
    [f"no{ODD}"],
]


def spelled(argv: list[str]) -> str:
    return " ".join(argv).replace(ODD, "ODD").replace(FILE, "FILE")


def outcome(capfdbinary: Any, *argv: str) -> tuple[int, bytes, bytes]:
    try:
        code = main(list(argv))
    except SystemExit as ended:  # argparse
        code = int(ended.code or 0)
    printed = capfdbinary.readouterr()
    return code, printed.out, printed.err


def check(printed: bytes) -> None:
    """Valid UTF-8 without a character that a terminal obeys or an eye does not see."""
    assert OBEYED.findall(printed) == []
    text = printed.decode()
    assert visible(text) == text


@pytest.mark.parametrize("argv", COMMANDS, ids=spelled)
def test_no_command_prints_what_a_terminal_obeys(runs: Path, tmp_path: Path, capfdbinary: Any, argv: list[str]) -> None:
    if "tensorboard" in argv:
        pytest.importorskip("tensorboard")
    out = ["--out", str(tmp_path / f"out{FILE}")] if argv[0] == "export" else []
    code, printed, said = outcome(capfdbinary, *argv, "--dir", str(runs), *out)
    assert code in (0, 1) and printed
    check(printed)
    check(said)


@pytest.mark.parametrize("argv", COMMANDS, ids=spelled)
def test_json_is_exact_and_plain(runs: Path, tmp_path: Path, capfdbinary: Any, argv: list[str]) -> None:
    if "tensorboard" in argv:
        pytest.importorskip("tensorboard")
    out = ["--out", str(tmp_path / f"out{FILE}")] if argv[0] == "export" else []
    code, printed, said = outcome(capfdbinary, *argv, "--dir", str(runs), "--json", *out)
    assert code in (0, 1)
    check(printed)
    check(said)
    lines = printed.decode().splitlines() if argv[0] in ("samples", "watch") else [printed.decode()]
    values = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert values and (argv[0] in ("explain", "export", "compact") or FILE in "".join(strings(values)))


def strings(value: Any) -> list[str]:
    """Every text in a value, keys too."""
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in strings(part)]
    if isinstance(value, list):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("argv", MISTAKES, ids=spelled)
def test_no_message_prints_what_a_terminal_obeys(runs: Path, capfdbinary: Any, argv: list[str]) -> None:
    code, printed, said = outcome(capfdbinary, argv[0], "--dir", str(runs), *argv[1:])
    assert code == 2 and said
    check(printed)
    check(said)


def test_files_with_hostile_names_are_imported_and_skipped_visibly(tmp_path: Path, capfdbinary: Any) -> None:
    (tmp_path / f"in{FILE}").mkdir()
    (tmp_path / f"in{FILE}" / f"a{FILE}.jsonl").write_text('{"step": 0, "loss": 1.0}\n{broken\n')
    (tmp_path / f"in{FILE}" / f"b{FILE}.db").write_bytes(b"SQLite format 3\0" + b"x" * 500)
    for more in ([], ["--json"]):
        words = ("import", str(tmp_path / f"in{FILE}"), "--dir", str(tmp_path / "runs"), *more)
        code, printed, said = outcome(capfdbinary, *words)
        assert code == 0 and printed
        check(printed)
        check(said)


def test_csv_of_a_query_has_no_formula_and_no_hidden_character(runs: Path, capfdbinary: Any) -> None:
    query = "select '=1+1' as \"@a\", '-5' as b, -5 as c, -0.5::double as d, '- item' as e, chr(27) as f"
    _, printed, _ = outcome(capfdbinary, "sql", query, "--csv", "--dir", str(runs))
    rows = list(csv.reader(io.StringIO(printed.decode())))
    assert rows == [["'@a", "b", "c", "d", "e", "f"], ["'=1+1", "-5", "-5", "-0.5", "'- item", "<U+001B>"]]
    _, printed, _ = outcome(capfdbinary, "sql", "select * from samples", "--csv", "--dir", str(runs))
    check(printed.replace(b"\r\n", b"\n"))


def test_exported_csv_has_no_formula(tmp_path: Path, capfdbinary: Any) -> None:
    with rs.init(id="r", dir=tmp_path, host=False) as run:
        run.log_samples([{"id": "=1+1", "completion": "- item", "reward": -1.0, "prompt": "'=x"}], step=0)
    words = ("export", "r", "--dir", str(tmp_path), "--format", "csv", "--out", str(tmp_path / "out"))
    assert outcome(capfdbinary, *words)[0] == 0
    with open(tmp_path / "out" / "samples.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["id"], row["completion"], row["prompt"], row["reward"]) == ("'=1+1", "'- item", "''=x", "-1.0")


def test_a_guarded_table_is_imported_as_it_was(tmp_path: Path, capfdbinary: Any) -> None:
    """The header of a spreadsheet's table names metrics: they come back as they were logged."""
    (tmp_path / "t.csv").write_text("step,'=a,''=b,-c\n0,1,2,-3\n1,1,2,-3\n")
    assert outcome(capfdbinary, "import", str(tmp_path / "t.csv"), "--dir", str(tmp_path / "runs"))[0] == 0
    names = rs.open(tmp_path / "runs").run().metrics()["name"].tolist()
    assert sorted(names) == ["'=b", "-c", "=a"]


ON_A_TERMINAL = [["ls"], ["show", "one"], ["watch", "one"], ["samples", "one"], ["doctor", "one"], ["compact", "--all"]]


@pytest.mark.parametrize("argv", [*ON_A_TERMINAL, ["export", "one", "--format", "csv"]], ids=spelled)
def test_a_terminal_gets_only_our_own_colours(runs: Path, tmp_path: Path, argv: list[str]) -> None:
    out = ["--out", str(tmp_path / "out")] if argv[0] == "export" else []
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "rollscope", *argv, "--dir", str(runs), *out]
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        printed = read_all(ours)
        process.wait(60)
    os.close(ours)
    assert process.returncode in (0, 1)
    check(OURS.sub(b"", printed))


def read_all(terminal: int) -> bytes:
    """Everything that is written to a terminal until its last writer closes it."""
    printed = b""
    while True:
        select.select([terminal], [], [], 100)
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # Linux's way to say that the other end is closed
            return printed
        if not part:
            return printed
        printed += part
