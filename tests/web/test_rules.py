"""The rules of the no-build web, as tests: what may import what, how much is loaded first, templates that balance, files as vendored."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rollscope.server.assets import BARE, IMPORT, WEB, Assets

ROOT = Path(__file__).parent.parent.parent
OURS = sorted(p for p in WEB.rglob("*.js") if "vendor" not in p.parts)
each_module = pytest.mark.parametrize("path", OURS, ids=lambda p: p.relative_to(WEB).as_posix())
FORMAT = ("--config", "prettier.json", "--ignore-path", "/dev/null")
VOID = {"input", "br", "hr", "img", "path", "circle", "rect", "canvas/"}


def imports(path: Path) -> list[str]:
    return [next(part for part in match.groups() if part) for match in IMPORT.finditer(path.read_text())]


@each_module
def test_base_is_pure_and_one_file_knows_uplot(path: Path) -> None:
    room = path.relative_to(WEB).parts[0]
    for said in imports(path):
        if room == "base":
            inside = said.startswith(".") and (path.parent / said).resolve().is_relative_to(WEB / "base")
            assert inside, f"base/ imports only base/, not {said}"
        if said == "uplot":
            assert path.name == "chart.js"
        assert said in BARE or (path.parent / said).is_file(), f"{said} is not there"


@each_module
def test_no_module_is_long_or_makes_markup_from_text(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\(|new Function", text
    )
    assert not re.search(r"https?://(?!engine:8000)", text), "no address of another machine"


@each_module
def test_components_are_checked_by_the_compiler(path: Path) -> None:
    """`<${Component}` inside a template would hide its props from tsc."""
    assert "<${" not in path.read_text()


class Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes <{self.open[-1] if self.open else 'nothing'}>"
        self.open.pop()


def templates(source: str) -> list[str]:
    """Every html`...` of a module, inner ones included, with what is in ${} taken out."""
    found = []
    for match in re.finditer(r"html`", source):
        at, depth, text = match.end(), 0, ""
        while depth or source[at] != "`":
            if source.startswith("${", at):
                depth, at = depth + 1, at + 2
                continue
            if depth:
                if source[at] == "`":  # a template inside: jump over it
                    at = _after_template(source, at + 1)
                    continue
                depth += (source[at] == "{") - (source[at] == "}")
                text += "x" if not depth else ""
            else:
                text += source[at]
            at += 1
        found.append(text)
    return found


def _after_template(source: str, at: int) -> int:
    depth = 0
    while depth or source[at] != "`":
        if source.startswith("${", at):
            depth, at = depth + 1, at + 2
            continue
        if depth and source[at] == "`":
            at = _after_template(source, at + 1)
            continue
        if depth:
            depth += (source[at] == "{") - (source[at] == "}")
        at += 1
    return at + 1


@each_module
def test_templates_balance(path: Path) -> None:
    for text in templates(path.read_text()):
        parser = Balance()
        parser.feed(text)
        assert not parser.open, f"{parser.open} stay open in {text[:120]!r}"


@pytest.mark.parametrize("page", ["metrics", "overview"])
def test_at_most_forty_modules_are_loaded_before_the_first_ink(page: str) -> None:
    assets = Assets()
    first = {*assets.graph("main.js"), *assets.graph(f"pages/{page}.js")}
    assert len(first) <= 40, sorted(first)


def test_vendored_files_are_what_they_were_when_fetched() -> None:
    vendor = WEB / "vendor"
    listed = tomllib.loads((vendor / "VENDOR.toml").read_text())
    files = {name: entry for package in listed.values() for name, entry in package["files"].items()}
    present = {p.relative_to(vendor).as_posix() for p in vendor.rglob("*") if p.is_file()} - {"VENDOR.toml"}
    assert present == set(files)
    for name, entry in files.items():
        assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == entry["sha256"], name
    assert all(
        package["licence"] and package["version"] and package["integrity"].startswith("sha512-")
        for package in listed.values()
    )


def test_one_preact() -> None:
    assert not [p for p in (WEB / "vendor").glob("*.js") if "standalone" in p.name]
    assert BARE["preact"] == "preact.js"


def test_types_of_the_wire_are_those_of_the_server() -> None:
    assert subprocess.run([sys.executable, "scripts/wire_types.py", "--check"], cwd=ROOT).returncode == 0, (
        "run: python scripts/wire_types.py"
    )


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_the_pure_parts() -> None:
    found = subprocess.run(["node", "--test", "tests/web/base/"], cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout[-4000:]


@pytest.mark.skipif(not (ROOT / "tests/web/node_modules/.bin/prettier").exists(), reason="needs npm ci in tests/web")
def test_every_module_is_formatted() -> None:
    found = subprocess.run(
        ["node_modules/.bin/prettier", *FORMAT, "--check", *map(str, OURS)],
        cwd=ROOT / "tests/web",
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, f"{found.stderr[-4000:]} Run make fmt."


@pytest.mark.skipif(not (ROOT / "tests/web/node_modules/.bin/tsc").exists(), reason="needs npm ci in tests/web")
def test_the_compiler_finds_nothing() -> None:
    found = subprocess.run(
        ["node_modules/.bin/tsc", "-p", "tsconfig.json"], cwd=ROOT / "tests/web", capture_output=True, text=True
    )
    assert found.returncode == 0, found.stdout[-4000:]
