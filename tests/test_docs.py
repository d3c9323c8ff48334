"""What README.md and docs/ tell a newcomer holds: the program runs, commands are commands, links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rollscope as rs
from rollscope.cli import build

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"```(\w*)\n(.*?)```", re.S)
COMMAND = re.compile(r"^rollscope (?!\[)(.+)", re.M)
PLACES = re.compile(r"#.*|\| .*")  # a remark, or another program


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in FENCED.findall(page.read_text()) if kind == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_a_file(page: Path) -> None:
    targets = {
        target.partition("#")[0] for target in LINK.findall(FENCED.sub("", page.read_text())) if "://" not in target
    }
    assert [target for target in sorted(targets) if target and not (page.parent / target).exists()] == []


def test_the_readmes_program_records_a_run_that_its_commands_read(tmp_path: Path) -> None:
    (program,) = blocks(ROOT / "README.md", "python")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    run = rs.open(tmp_path / "runs").run("grpo-1")
    assert len(run.series("reward/mean")["value"]) == 30 == len(run.series("custom/loss/auxiliary")["value"])
    assert len(run.samples(step=7)["id"]) == 32 and run.spans(step=7)["name"].tolist() == ["generate"]
    assert run.state == "finished"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_commands_with_such_arguments(page: Path) -> None:
    for block in [*blocks(page, "sh"), *blocks(page, "text")]:
        for line in COMMAND.findall(block):
            words = shlex.split(PLACES.sub("", line))
            assert build(words[0]).parse_args(words), line


def test_what_a_trainer_is_told_to_call_is_there_with_one_import() -> None:
    calls = sorted(set(re.findall(r"`(rollscope\.sources\.\w+\.attach)\(", (ROOT / "docs" / "sources.md").read_text())))
    assert len(calls) == 3
    subprocess.run(
        [sys.executable, "-c", f"import rollscope; assert all(map(callable, [{', '.join(calls)}]))"], check=True
    )
