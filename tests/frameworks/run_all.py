"""`make test-frameworks-all`: let more frameworks write dumps with their own code, and read them.

Each package lives in a folder of its own, `.venvs/NAME`, beside the environment of veRL. What it
writes is kept in `tests/golden/dumps`, where CI reads it without the package. Telescope is not on
PyPI: with `TELESCOPE=CHECKOUT` its own code writes its archives again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

from run import RECIPES, ROOT, VENVS, make, pip

HERE = ROOT / "tests" / "frameworks"
GOLDEN = ROOT / "tests" / "golden" / "dumps"
PACKAGES = {  # name -> package without its dependencies, and those that its dump needs
    "verifiers": ("verifiers==0.4.0", "verifiers==0.4.0"),
    "tinker": ("tinker-cookbook==0.5.8", "chz", "tinker", "termcolor", "blobfile", "rich"),
    "art": ("openpipe-art==0.5.18", "python-dotenv", "litellm", "openai", "polars", "typer"),
    "swift": ("ms-swift==4.6.0", "modelscope", "json_repair", "addict"),
    "areal": (
        "areal==1.0.4",
        *("colorlog", "aiofiles", "uvloop", "aiohttp", "hydra-core", "setproctitle", "tenacity", "json5", "flask"),
        *("swanlab", "lark", "numba", "einops", "openai"),
    ),
    "skyrl": ("skyrl==0.3.0", "loguru", "jaxtyping", "skyrl-gym"),
}


def install(name: str, package: str, *needed: str) -> None:
    folder = VENVS / name
    if not (folder / ".made").exists():
        print(f"making .venvs/{name}", flush=True)
        pip("verl", "--target", str(folder), *needed)
        pip("verl", "--target", str(folder), "--no-deps", "--upgrade", package)
        (folder / ".made").write_text(package)


def write(name: str, *more: str) -> None:
    """Let the framework write its dump; its own logs go to a folder that is removed."""
    shutil.rmtree(GOLDEN / name, ignore_errors=True)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(VENVS / name), *more])}
    command = [str(VENVS / "verl" / "bin" / "python"), str(HERE / "dumps_run.py"), name, str(GOLDEN / name)]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, env=env, cwd=folder, check=True)


def telescope() -> None:
    """Telescope, if there is a checkout of it."""
    if checkout := os.environ.get("TELESCOPE"):
        install("telescope", "zstandard", "aiohttp", "wandb")
        write("telescope", os.path.join(checkout, "src"))


def main() -> int:
    make("verl", RECIPES["verl"])
    for name, packages in PACKAGES.items():
        install(name, *packages)
        write(name)
    telescope()
    command = [sys.executable, "-m", "pytest", str(ROOT / "tests" / "sources" / "test_packages.py"), *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
