"""`make test-floors`: test with the oldest and the newest versions of what we depend on.

`.venvs/floors` has exactly the lowest versions that pyproject.toml declares, `.venvs/newest` has
what a plain installation takes today. Environments are made once, of wheels alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENVS = ROOT / ".venvs"
DECLARED: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
RECIPES = {  # environment -> what pip installs
    "floors": [requirement.replace(">=", "==") for requirement in DECLARED],
    "newest": DECLARED,
}
BESIDE = {"duckdb1": "duckdb==1.5.5"}  # folder -> a package to use in place of the newest


def pip(name: str, *words: str) -> None:
    """Install into an environment with our own pip."""
    python = ("--python", str(VENVS / name / "bin" / "python"))
    quiet = ("--quiet", "--disable-pip-version-check", "--only-binary=:all:")
    subprocess.run([sys.executable, "-m", "pip", *python, "install", *quiet, *words], check=True)


def make(name: str, requirements: list[str]) -> None:
    """An environment with these packages, and with Rollscope from this folder."""
    done = VENVS / name / ".made"
    if done.exists() and done.read_text() == repr(requirements):
        return
    print(f"making .venvs/{name}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENVS / name)], check=True)
    pip(name, *requirements)
    (packages,) = (VENVS / name).glob("lib/python*/site-packages")
    (packages / "rollscope-of-this-folder.pth").write_text(f"{ROOT / 'src'}\n")
    done.write_text(repr(requirements))


def main() -> int:
    VENVS.mkdir(exist_ok=True)
    with ThreadPoolExecutor() as threads:
        list(threads.map(make, RECIPES, RECIPES.values()))
    for folder, package in BESIDE.items():
        if not (VENVS / folder).exists():
            pip("newest", "--no-deps", "--target", str(VENVS / folder), package)
    command = [sys.executable, "-m", "pytest", str(Path(__file__).parent), *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "ROLLSCOPE_FLOORS": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
