"""Has somebody set W&B up on this machine? Asked without importing it, without the network and without a prompt."""

from __future__ import annotations

import os
from pathlib import Path

TOLD = ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL")


def wandb_is_set_up() -> bool:
    """By its environment variables, or by the entry `wandb login` leaves in the netrc file."""
    if any(os.environ.get(name) for name in TOLD):
        return True
    try:
        return "wandb" in (Path(os.environ.get("NETRC") or Path.home() / ".netrc")).read_text(errors="replace")
    except OSError:
        return False
