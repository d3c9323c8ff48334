"""The rules of a web without a build step: imports, templates, vendored files, types, format."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rollscope.server.assets import BARE, IMPORT, WEB, Assets
from tests.web.templates import Balance, bare_brackets, lost_spaces, templates

ROOT = Path(__file__).parent.parent.parent
OURS = sorted(p for p in WEB.rglob("*.js") if "vendor" not in p.parts)
each_module = pytest.mark.parametrize("path", OURS, ids=lambda p: p.relative_to(WEB).as_posix())
PURE = [p for p in OURS if p.is_relative_to(WEB / "base")]
FORMAT = ("--config", "prettier.json", "--ignore-path", "/dev/null")


def imports(path: Path) -> list[str]:
    return [next(part for part in match.groups() if part) for match in IMPORT.finditer(path.read_text())]


@each_module
def test_base_is_pure_and_one_module_knows_uplot(path: Path) -> None:
    room = path.relative_to(WEB).parts[0]
    for target in imports(path):
        assert target in BARE or (path.parent / target).is_file(), f"{target} is not there"
        if room == "base":
            inside = target not in BARE and (path.parent / target).resolve().is_relative_to(WEB / "base")
            assert inside, f"base/ imports only base/, not {target}"
        if target == "uplot":
            assert path.name == "chart.js"


@pytest.mark.parametrize("path", PURE, ids=lambda p: p.relative_to(WEB).as_posix())
def test_base_touches_no_document(path: Path) -> None:
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.DOTALL)
    assert not re.search(r"\b(document|window|localStorage|navigator|location|fetch|setTimeout)\b[.(]", code)


@each_module
def test_a_module_makes_no_markup_from_text_and_names_no_other_machine(path: Path) -> None:
    text = path.read_text()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\(|new Function", text
    )
    assert not re.search(r"https?://(?!engine:8000)", text), "no address of another machine"


@each_module
def test_lines_are_short(path: Path) -> None:
    """Prettier breaks code at 120 columns, but no comment and no expression of a template."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        comment = line.lstrip().startswith(("/*", "*", "//")) or " // " in line
        assert len(line) <= (100 if comment else 120), f"line {number} has {len(line)} columns"


@each_module
def test_a_module_begins_with_its_sentence(path: Path) -> None:
    assert re.match(r"/\*\* [A-Z\"`].*?\.\s*\*/", path.read_text(), re.DOTALL), "no comment with a sentence at the top"


@each_module
def test_components_are_checked_by_the_compiler(path: Path) -> None:
    """`<${Component}` inside a template would hide its props from tsc."""
    assert "<${" not in path.read_text()


@each_module
def test_templates_balance(path: Path) -> None:
    for text in templates(path.read_text()):
        parser = Balance()
        parser.feed(text)
        assert not parser.open, f"{parser.open} stay open in {text[:120]!r}"


@each_module
def test_templates_have_no_bare_bracket(path: Path) -> None:
    """`config.lr<1e-5` in a template fails when it is rendered; write ${"config.lr<1e-5"}."""
    bare = [text for template in templates(path.read_text()) for text in bare_brackets(template)]
    assert not bare


@each_module
def test_templates_lose_no_space_at_a_line_break(path: Path) -> None:
    """htm drops a line break between words and ${...}; write a space there as ${" "}."""
    lost = [text for template in templates(path.read_text()) for text in lost_spaces(template)]
    assert not lost


@pytest.mark.parametrize(
    ("template", "problems"),
    [
        pytest.param("html`<code>config.lr<1e-5</code>`", 1, id="a comparison"),
        pytest.param("html`<p>a < b</p>`", 1, id="a bracket before a space"),
        pytest.param('html`<input placeholder="reward<0.5" />`', 0, id="inside an attribute"),
        pytest.param('html`<code>${"a<b"}</code>`', 0, id="inside an expression"),
        pytest.param("html`<p>${x < y ? html`<b>1</b>` : null}</p>`", 0, id="in code around a template"),
    ],
)
def test_the_lint_finds_bare_brackets(template: str, problems: int) -> None:
    assert sum(len(bare_brackets(text)) for text in templates(template)) == problems


@pytest.mark.parametrize(
    ("template", "problems"),
    [
        pytest.param("html`<p>every\n  ${n} s</p>`", 1, id="words, then an expression"),
        pytest.param("html`<p>${n}\n  steps</p>`", 1, id="an expression, then words"),
        pytest.param('html`<p>every${" "}\n  ${n} s</p>`', 0, id="a written space"),
        pytest.param("html`<p>\n  ${n}\n</p>`", 0, id="only an expression"),
        pytest.param('html`<a\n  href=${to}\n  class="x">y</a>`', 0, id="attributes"),
    ],
)
def test_the_lint_finds_lost_spaces(template: str, problems: int) -> None:
    assert sum(len(lost_spaces(text)) for text in templates(template)) == problems


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
    for package in listed.values():
        assert package["licence"] and package["version"] and package["integrity"].startswith("sha512-")


def test_one_preact() -> None:
    assert not [p for p in (WEB / "vendor").glob("*.js") if "standalone" in p.name]
    assert BARE["preact"] == "preact.js"


def test_types_of_the_wire_are_those_of_the_server() -> None:
    check = subprocess.run([sys.executable, "scripts/wire_types.py", "--check"], cwd=ROOT)
    assert check.returncode == 0, "run: python scripts/wire_types.py"


def has_tool(name: str) -> bool:
    return (ROOT / "tests/web/node_modules/.bin" / name).exists()


def output_of_failure(*command: str, folder: Path = ROOT) -> str:
    """The end of what a command printed, or "" if it succeeded."""
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return (result.stdout + result.stderr)[-4000:] if result.returncode else ""


@pytest.mark.skipif(not shutil.which("node"), reason="needs node")
def test_the_pure_modules() -> None:
    assert not output_of_failure("node", "--test", "tests/web/base/")


@pytest.mark.skipif(not has_tool("prettier"), reason="needs npm ci in tests/web")
def test_every_module_is_formatted() -> None:
    modules = [*OURS, *sorted((ROOT / "tests/web/base").rglob("*.js"))]
    prettier = ("node_modules/.bin/prettier", *FORMAT, "--check", *map(str, modules))
    output = output_of_failure(*prettier, folder=ROOT / "tests/web")
    assert not output, f"{output} Run make fmt."


@pytest.mark.skipif(not has_tool("tsc"), reason="needs npm ci in tests/web")
def test_the_compiler_finds_no_error() -> None:
    assert not output_of_failure("node_modules/.bin/tsc", "-p", "tsconfig.json", folder=ROOT / "tests/web")
