"""What a run was made with: git state, machine, packages, command line, some environment variables.

No secret is among them.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from typing import Any

from rollscope import __version__
from rollscope.store.log.secret import hide, hide_arguments

_VARIABLES = re.compile(
    r"(CUDA|NCCL|TORCH|PYTORCH|OMP|VLLM|SGL|RAY|SLURM|ROLLSCOPE|HF_HUB_OFFLINE|MASTER|RANK|LOCAL_RANK|WORLD"
    r"|NODE_RANK|TOKENIZERS)[A-Z_]*"
)
_INSTALLED = re.compile(r"([\w.]+)-([^-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info")
CHANGED_FILES = 200  # that are listed at most
SECONDS = 10.0  # that git may take for an answer


def environment() -> dict[str, Any]:
    """The `environment` column of `runs`.

    Starts a few subprocesses: not for the caller's thread.
    """
    return {
        "rollscope": __version__,
        "python": platform.python_version(),
        "command": hide_arguments([sys.executable, *sys.argv] if sys.argv[:1] != [""] else [sys.executable]),
        "cwd": os.getcwd(),
        "host": machine(),
        "git": git(),
        "packages": packages(),
        "variables": variables(),
    }


def variables() -> dict[str, Any]:
    return {name: hide(value, name) for name, value in sorted(os.environ.items()) if _VARIABLES.fullmatch(name)}


def machine() -> dict[str, Any]:
    facts: dict[str, Any] = {"name": socket.gethostname(), "system": system(), "cpus": os.cpu_count()}
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        facts["memory_bytes"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)  # missing while another thread imports torch
    if torch is not None and getattr(cuda, "is_initialized", bool)():  # reading would otherwise make a context
        facts["gpus"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return facts


def system() -> str:
    """As `platform.platform()`, which starts a process to learn the processor."""
    known, library = platform.uname(), "".join(platform.libc_ver())
    return "-".join([known.system, known.release, known.machine, *(["with", library] if library else [])])


def packages() -> dict[str, str]:
    """Name -> version, from the names of the installed folders.

    Reading the metadata of hundreds of packages would take half a second of the trainer's CPU.
    """
    versions: dict[str, str] = {}
    for folder in sys.path:
        with contextlib.suppress(OSError):  # it does not exist, or is an archive
            for entry in os.listdir(folder or "."):
                if match := _INSTALLED.fullmatch(entry):
                    versions.setdefault(match[1].lower().replace("_", "-"), match[2])
    return dict(sorted(versions.items()))


def git() -> dict[str, Any] | None:
    """Commit, branch, remote, and the names of changed files.

    Not the changes: they may hold a secret.
    """
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    changed = (_git("status", "--porcelain", "--untracked-files=no") or "").splitlines()
    return {
        "commit": commit,
        "branch": _git("rev-parse", "--abbrev-ref", "HEAD"),
        "remote": hide(_git("remote", "get-url", "origin")),
        "dirty": bool(changed),
        "changed": [line.strip() for line in changed[:CHANGED_FILES]],
    }


def _git(*words: str) -> str | None:
    """What git prints, by way of a file.

    A training forks (its data loaders do). A fork has the ends of all pipes that are open at that
    instant, so a pipe of ours would stay open, and be waited for, until that fork ends. Without
    `close_fds`, Python opens none to start a process.
    """
    if (git := shutil.which("git")) is None:
        return None
    try:
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen([git, *words], stdout=out, stderr=subprocess.DEVNULL, close_fds=False)
            code = _ended(process)
            out.seek(0)
            return out.read().decode(errors="replace").strip() if code == 0 else None
    except (OSError, subprocess.SubprocessError):
        return None


def _ended(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
