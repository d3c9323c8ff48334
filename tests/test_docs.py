"""README.md and docs/ are true: the program runs, commands parse, links and anchors lead
somewhere.
"""

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
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
METRICS = sorted((ROOT / "docs" / "metrics").glob("*.md"))
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"```(\w*)\n(.*?)```", re.S)
COMMAND = re.compile(r"^rollscope (?!\[)(.+)", re.M)
NO_ARGUMENT = re.compile(r"#.*|\| .*")  # a comment, or a pipe into another program
HEADING = re.compile(r"^#+ (.+)", re.M)


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in FENCED.findall(page.read_text()) if kind == language]


def links(page: Path) -> list[str]:
    """Targets of a page's links to other pages of ours."""
    return [target for target in LINK.findall(FENCED.sub("", page.read_text())) if "://" not in target]


def anchors(page: Path) -> set[str]:
    """Anchors that GitHub gives the headings of a page."""
    headings = HEADING.findall(FENCED.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_a_file(page: Path) -> None:
    targets = {target.partition("#")[0] for target in links(page)}
    assert [target for target in sorted(targets) if target and not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", METRICS, ids=lambda page: page.name)
def test_anchors_of_the_glossary_lead_to_a_heading(page: Path) -> None:
    targets = [target.partition("#") for target in links(page) if "#" in target]
    assert [
        (path, anchor) for path, _, anchor in targets if anchor not in anchors(page.parent / (path or page.name))
    ] == []


def test_the_glossary_opens_with_what_to_watch_and_links_every_section() -> None:
    index = ROOT / "docs" / "metrics" / "README.md"
    headings = [line for line in HEADING.findall(index.read_text()) if not line.startswith("Metrics")]
    assert headings[0] == "What to watch" and "When something looks wrong" in headings
    assert {page.name for page in METRICS} - {"README.md"} <= set(links(index))


def test_the_readmes_program_records_a_run_that_its_commands_read(tmp_path: Path) -> None:
    (program,) = blocks(ROOT / "README.md", "python")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    run = rs.open(tmp_path / "runs").run("grpo-1")
    assert len(run.series("reward/mean")["value"]) == 30 == len(run.series("custom/loss/auxiliary")["value"])
    assert len(run.samples(step=7)["id"]) == 32 and run.spans(step=7)["name"].tolist() == ["generate"]
    assert run.state == "finished"


def test_the_map_names_every_room_of_the_house() -> None:
    (tree,) = (block for block in blocks(ROOT / "README.md", "") if block.startswith("src/rollscope/"))
    rooms = {folder.parent.name for folder in (ROOT / "src" / "rollscope").glob("*/__init__.py")} | {"web"}
    assert set(re.findall(r"^  (\w+)/ ", tree, re.M)) == rooms


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_commands_with_such_arguments(page: Path) -> None:
    for block in [*blocks(page, "sh"), *blocks(page, "text")]:
        for line in COMMAND.findall(block):
            words = shlex.split(NO_ARGUMENT.sub("", line))
            assert build(words[0]).parse_args(words), line


EXAMPLES = {
    "environments.md": ["lookup.py", "lookup.toml"],
    "backends.md": ["backend.py", "reverse.toml"],
}


@pytest.mark.parametrize("page", EXAMPLES)
def test_code_of_a_page_is_code_of_the_example_that_tests_run(page: str) -> None:
    sources = "\n".join((ROOT / "examples" / name).read_text() for name in EXAMPLES[page])
    written = [*blocks(ROOT / "docs" / page, "python"), *blocks(ROOT / "docs" / page, "toml")]
    assert len(written) > 1 and [code for code in written if code not in sources] == []


def test_the_page_of_batch_keys_computes_what_it_shows() -> None:
    (program,) = blocks(ROOT / "docs" / "batch.md", "python")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.5", "0.2", "5.0"]


def test_what_a_trainer_is_told_to_call_is_there_with_one_import() -> None:
    calls = sorted(set(re.findall(r"`(rollscope\.sources\.\w+\.attach)\(", (ROOT / "docs" / "sources.md").read_text())))
    assert len(calls) == 6
    subprocess.run(
        [sys.executable, "-c", f"import rollscope; assert all(map(callable, [{', '.join(calls)}]))"], check=True
    )
