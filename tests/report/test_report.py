"""One file that says everything, loads nothing, and shows hostile text as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import rollscope as rs
from rollscope.cli import main
from rollscope.report.chart import svg
from rollscope.report.content import gather
from rollscope.report.markdown import fenced, markdown, plain
from rollscope.report.page import page

HOSTILE = '</pre><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m"&lt; ```\n# t [a](javascript:b)'
KEY = "sk-" + "a1B2c3D4e5F6g7H8" * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    settings = {"config": {"lr": 1e-6, "note": HOSTILE, "api_key": KEY}, "algorithm": "grpo", "host": False}
    with rs.init(project=HOSTILE, name="grpo <b>", id="r", dir=folder, **settings) as run:
        for step in range(80):
            reward = np.nan if 30 < step < 35 else min(step, 80 - step) / 80  # it turns where entropy is gone
            run.log({"policy/entropy": 1.0 if step < 40 else 0.01, "reward/generated/mean": reward}, step=step)
        run.log_samples(
            [{"id": f"{i}", "reward": float(i), "prompt": HOSTILE, "completion": f"{HOSTILE} {KEY}"} for i in range(4)],
            step=79,
        )
        with run.span("save_checkpoint", step=30):
            pass
    with rs.init(name="empty", id="empty", dir=folder, host=False):
        pass
    return folder


class Tags(HTMLParser):
    def __init__(self, words: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_tells_the_story_with_its_chart_and_where_to_resume(folder: Path) -> None:
    words = page(gather(rs.open(folder).run("r")))
    seen = Tags(words).text
    assert "Entropy collapsed since step" in seen and "Resume from step 30" in seen and "1e-06" in seen
    assert words.count("<svg") >= 3 and 'class="soft bad"' in words and "Samples of step 79" in seen


def test_the_page_loads_nothing_and_hostile_text_is_text(folder: Path) -> None:
    words = page(gather(rs.open(folder).run("r")))
    parsed = Tags(words)
    assert not {"script", "img", "iframe", "link", "object", "a", "form"} & {tag for tag, _ in parsed.tags}
    loads = [name for _, attrs in parsed.tags for name in attrs if name in ("src", "href") or name.startswith("on")]
    assert not loads and "url(" not in words and "@import" not in words
    assert "<script>alert(1)</script>" in parsed.text, "the text is shown as it is"
    assert "\x1b" not in words and "\u202e" not in words


@pytest.mark.parametrize("form", [page, markdown])
def test_no_secret_is_handed_on(folder: Path, form) -> None:
    assert KEY not in form(gather(rs.open(folder).run("r")))


def test_a_gap_breaks_the_line_of_a_chart(folder: Path) -> None:
    report = gather(rs.open(folder).run("r"))
    assert [svg(chart).count('class="band"') for chart in report.vitals if "eward" in chart.title] == [2]


def test_markdown_shows_hostile_text_as_text(folder: Path) -> None:
    words = markdown(gather(rs.open(folder).run("r")))
    outside = re.sub(r"(?ms)^(`{3,})text$.*?^\1$", "", words)
    assert not re.search(r"(?<!\\)<script|(?<!\\)\]\(javascript", outside)
    assert "Entropy collapsed" in words and len(re.findall(r"(?m)^`{4,}", words)) == 2 * 3
    assert fenced("a ```` b").startswith("`````text") and plain("@all *x*") == r"\@all \*x\*"


def test_a_run_without_anything_has_a_report(folder: Path) -> None:
    report = gather(rs.open(folder).run("empty"))
    assert ("state", "finished") in report.facts and "steps" not in dict(report.facts)
    assert report.verdict in page(report) and report.verdict in markdown(report)


def test_the_command_writes_a_file_and_replaces_none_unasked(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.html"
    assert main(["report", "r", "--dir", str(folder), "-o", str(out)]) == 0
    assert out.read_text().startswith("<!doctype html>")
    assert main(["report", "r", "--dir", str(folder), "-o", str(out)]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["report", "r", "--dir", str(folder), "--md"]) == 0
    assert capsys.readouterr().out.startswith("# grpo")


@pytest.mark.parametrize(("least", "code"), [("bad", 1), ("watch", 1)])
def test_the_doctor_fails_on_what_is_asked(folder: Path, least: str, code: int) -> None:
    assert main(["doctor", "r", "--dir", str(folder), "--fail-on", least]) == code


def test_the_doctor_passes_a_finding_that_is_less_bad_than_asked(tmp_path: Path) -> None:
    with rs.init(name="watch", id="w", dir=tmp_path, host=False) as run:
        for step in range(30):
            run.log({"my/statistic": np.inf if step == 20 else 1.0}, step=step)
    assert main(["doctor", "w", "--dir", str(tmp_path)]) == 1
    assert main(["doctor", "w", "--dir", str(tmp_path), "--fail-on", "bad"]) == 0
