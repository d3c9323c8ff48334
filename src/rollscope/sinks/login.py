"""Tells whether W&B is set up on this machine, without import, network or prompt."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLES = ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL")


def wandb_is_set_up() -> bool:
    """True if an environment variable says so, or the netrc file has an entry of `wandb login`."""
    if any(os.environ.get(name) for name in VARIABLES):
        return True
    try:
        return "wandb" in (Path(os.environ.get("NETRC") or Path.home() / ".netrc")).read_text(errors="replace")
    except OSError:
        return False
