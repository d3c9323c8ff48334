"""The wheel, installed in another folder, serves every page with all its files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.web.conftest import Served, Watched

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parent.parent.parent
PAGES = [
    "",
    "glossary",
    *(f"r/grpo-7/{page}" for page in ("overview", "metrics", "rollouts", "timeline", "system")),
    *(f"r/grpo-7/{page}" for page in ("evals", "compare", "findings", "glossary", "sql")),
]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run([sys.executable, "-m", *build], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    install = ["pip", "install", "-q", "--no-deps", "--no-index", "--target", str(folder / "site"), str(wheel)]
    subprocess.run([sys.executable, "-m", *install], check=True, capture_output=True)
    return folder / "site"


def test_the_wheel_serves_every_page_with_no_404(
    installed: Path, recorded: Path, browser: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed))
    monkeypatch.chdir(tmp_path)
    where = subprocess.run(
        [sys.executable, "-c", "import rollscope; print(rollscope.__file__)"],
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    ).stdout
    assert where.startswith(str(installed)), "the checkout would be tested, not the wheel"
    served = Served(recorded)
    watched = Watched(browser)
    try:
        for page in PAGES:
            watched.page.goto(served.url + page)
            watched.page.wait_for_selector("#page[data-page]:not([data-page=''])")
        assert watched.errors == []
        assert all(url.startswith(served.url) for url in watched.requests)
    finally:
        watched.context.close()
        served.stop()
