"""Tells whether W&B is set up on this machine, without importing it, without network and without a prompt."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLES = ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL")


def wandb_is_set_up() -> bool:
    """True if an environment variable says so, or if `wandb login` left an entry in the netrc file."""
    if any(os.environ.get(name) for name in VARIABLES):
        return True
    try:
        return "wandb" in (Path(os.environ.get("NETRC") or Path.home() / ".netrc")).read_text(errors="replace")
    except OSError:
        return False
