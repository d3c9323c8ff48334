"""What a run was made with: git state, machine, packages, command line, the environment variables that matter. Never a secret."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import socket
import subprocess
import sys
from typing import Any

from rollscope import __version__

from .secret import hide, hide_arguments

_VARIABLES = re.compile(
    r"(CUDA|NCCL|TORCH|PYTORCH|OMP|VLLM|SGL|RAY|SLURM|ROLLSCOPE|HF_HUB_OFFLINE|MASTER|RANK|LOCAL_RANK|WORLD|NODE_RANK|TOKENIZERS)[A-Z_]*"
)
_INSTALLED = re.compile(r"([\w.]+)-([^-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info")


def environment() -> dict[str, Any]:
    """Everything at once. Takes a subprocess or three: not for the caller's thread."""
    return {
        "rollscope": __version__,
        "python": platform.python_version(),
        "command": hide_arguments([sys.executable, *sys.argv] if sys.argv[:1] != [""] else [sys.executable]),
        "cwd": os.getcwd(),
        "host": machine(),
        "git": git(),
        "packages": packages(),
        "variables": {
            name: hide(value, name) for name, value in sorted(os.environ.items()) if _VARIABLES.fullmatch(name)
        },
    }


def machine() -> dict[str, Any]:
    found: dict[str, Any] = {"name": socket.gethostname(), "system": platform.platform(), "cpus": os.cpu_count()}
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found["memory_bytes"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():  # asking would otherwise make a context
        found["gpus"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return found


def packages() -> dict[str, str]:
    """Name -> version, from the names of their folders: reading the metadata of hundreds would take half a second of the trainer's CPU."""
    found: dict[str, str] = {}
    for place in sys.path:
        with contextlib.suppress(OSError):  # not there, or an archive
            for entry in os.listdir(place or "."):
                if match := _INSTALLED.fullmatch(entry):
                    found.setdefault(match[1].lower().replace("_", "-"), match[2])
    return dict(sorted(found.items()))


def git() -> dict[str, Any] | None:
    """Commit, branch, remote, and which files were changed. Not the change itself: nobody can promise that there is no secret in it."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    changed = (_git("status", "--porcelain", "--untracked-files=no") or "").splitlines()
    about = {
        "commit": commit,
        "branch": _git("rev-parse", "--abbrev-ref", "HEAD"),
        "remote": hide(_git("remote", "get-url", "origin")),
    }
    return {**about, "dirty": bool(changed), "changed": [line.strip() for line in changed[:200]]}


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *words], capture_output=True, text=True, timeout=10, check=False, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
