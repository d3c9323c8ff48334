"""`make test-frameworks-all`: let more frameworks write dumps with their own code, and read them.

Each package lives in a folder of its own, `.venvs/NAME`, beside the environment of veRL, or in an
environment of its own. What it writes is kept in `tests/golden/dumps`, where CI reads it without
the package. Telescope is not on PyPI: with `TELESCOPE=CHECKOUT` its own code writes its archives
again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

from run import ELSEWHERE, RECIPES, ROOT, VENVS, make, pip

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
WHOLE = {  # name -> packages with all dependencies, in an environment of their own
    # AgentOps listens only to packages in `site-packages`. Its exporter and that of Agent-Lightning
    # set fields of OpenTelemetry's that 1.45 has no more; with it they send nothing.
    "agentlightning": [
        [
            *("agentlightning==0.3.0", "agentops==0.4.21"),
            *("opentelemetry-sdk==1.39.1", "opentelemetry-exporter-otlp==1.39.1"),
        ]
    ],
}
LIVE: dict[str, list[list[str]]] = {  # environment -> pip install calls, for trainings that are recorded live
    "swift-live": [["ms-swift==4.6.0", "trl<1.0", "transformers==5.19.0", "msgspec"]],
    "verifiers-live": [["verifiers==0.4.0", "numpy"]],
}
TESTS = (
    *("sources/test_packages.py", "sources/test_agentlightning.py"),
    *(f"frameworks/{name}" for name in ELSEWHERE),
)


def install(name: str, package: str, *needed: str) -> None:
    folder = VENVS / name
    if not (folder / ".made").exists():
        print(f"making .venvs/{name}", flush=True)
        pip("verl", "--target", str(folder), *needed)
        pip("verl", "--target", str(folder), "--no-deps", "--upgrade", package)
        (folder / ".made").write_text(package)


def write(name: str, *more: str, python: str = "verl") -> None:
    """Let the framework write its dump; its own logs go to a folder that is removed."""
    shutil.rmtree(GOLDEN / name, ignore_errors=True)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(VENVS / name), *more])}
    command = [str(VENVS / python / "bin" / "python"), str(HERE / "dumps_run.py"), name, str(GOLDEN / name)]
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
    for name, calls in WHOLE.items():
        make(name, calls)
        write(name, python=name)
    for name, calls in LIVE.items():
        make(name, calls)
    tests = [str(ROOT / "tests" / name) for name in TESTS]
    env = {**os.environ, "ROLLSCOPE_FRAMEWORKS_ALL": "1"}
    patient = ("-o", "timeout=1800")  # the first test of a file waits for all its trainings
    return subprocess.run(
        [sys.executable, "-m", "pytest", *tests, *patient, *sys.argv[1:]], cwd=ROOT, env=env
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
