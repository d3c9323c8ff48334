"""A command answers bad input with one sentence and exit code 2, never with a traceback."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from rollscope.cli import main


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    with rs.init(id="r", dir=path, host=False) as run:
        run.log({"reward/mean": 1.0}, step=0)
        run.log_samples(step=0, samples=[{"id": "s", "reward": 1.0, "completion": "words"}])
    return path


def answer(capsys: Any, *argv: str) -> tuple[int, str]:
    try:
        code = main(list(argv))
    except SystemExit as ended:  # argparse
        code = int(ended.code or 0)
    printed = capsys.readouterr()
    return code, printed.err or printed.out


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["ls", "--limit", "-3"], "whole number"),
        (["ls", "--state", "odd"], "rollscope ls: error: it takes no '--state odd'"),
        (["sql", "r", "select 1"], "[--run RUN]"),
        (["shw"], "there is no command 'shw'. Did you mean 'show'"),
        (["lake", "init"], "required: LAKE\n"),
        (["timeline", "r"], "no spans in this run"),
        (["report", "r", "-o", "/nowhere/at/all.html"], "there is no folder '/nowhere/at'"),
        (["show", "nope"], "'nope'"),
        (["show", "r", "--metric", "zzz"], "'zzz'"),
        (["watch", "r", "--every", "-1"], "above 0"),
        (["import", "x", "--every", "0"], "above 0"),
        (["import", "/nowhere/at/all"], "nothing was imported"),
        (["doctor", "r", "--every", "soon"], "'soon'"),
        (["sql", "select"], "not SQL"),
        (["sql", "drop table runs"], "DROP"),
        (["samples", "r", "--where", "no_such_column = 1"], "no_such_column"),
        (["why", "r", "reward/mean", "9999"], "9999"),
        (["why", "r", "nonsense", "0"], "'nonsense'"),
        (["export", "r", "--format", "chrome", "--out", "/nowhere/at/all.json"], "/nowhere/at/all.json"),
        (["run"], "rollscope run: nothing to run"),
        (["run", "--", "no-such-program"], "rollscope run: 'no-such-program'"),
        (["train", "nowhere.toml"], "nowhere.toml"),
        (["compare", "r"], "'r'"),
        (["compact", "nope"], "'nope'"),
        (["explain"], "which metric"),
        (["explain", "--scenario", "nope"], "'nope'"),
        (["explain", "loss", "--dialect", "nope"], "'nope'"),
        (["serve", "--no-browser", "--port", "99999"], "99999"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_answered_with_a_sentence(runs: Path, capsys: Any, argv: list[str], word: str) -> None:
    code, message = answer(capsys, argv[0], "--dir", str(runs), *argv[1:])
    assert code == 2 and word in message
    assert "Traceback" not in message and ".." not in message.replace("...", "")


def test_without_a_command_the_commands_are_listed(capsys: Any) -> None:
    code, message = answer(capsys)
    assert code == 2 and "import" in message and "doctor" in message


REFUSING = """
import sys, threading

def refused(*_, **__):
    raise RuntimeError("can't start new thread")

threading._start_new_thread = threading._start_joinable_thread = refused  # as the system does at its limit
from rollscope.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("argv", [["serve", ".", "--port", "0"], ["compact", "r"]])
def test_without_threads_a_command_says_what_to_do(runs: Path, tmp_path: Path, argv: list[str]) -> None:
    shutil.copytree(runs / "r", tmp_path / "r")
    words = [sys.executable, "-c", REFUSING, *argv, "--dir", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "start no more threads" in done.stderr and "Traceback" not in done.stderr


def test_spans_that_are_not_of_a_trainer_are_named(tmp_path: Path, capsys: Any) -> None:
    with rs.init(id="ten-lines", dir=tmp_path, host=False) as run, run.span("generate", lane="inference/0", step=0):
        pass
    code, said = answer(capsys, "timeline", "ten-lines", "--dir", str(tmp_path))
    assert code == 2 and "Its spans are on inference/0." in said and 'lane="trainer/0"' in said
