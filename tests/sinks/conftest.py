"""The facts of a run in a temporary folder, with every tracker offline and quiet."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for sink_readers
# Trackio reads it once, on import. Each test has its own project.
os.environ["TRACKIO_DIR"] = tempfile.mkdtemp(prefix="trackio-")


@pytest.fixture
def info(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    for name, value in {
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "WANDB_CONSOLE": "off",
        "SWANLAB_MODE": "offline",
        "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path / 'mlflow.db'}",
        "HF_HUB_OFFLINE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    return {
        "id": "r1",
        "name": "first",
        "project": tmp_path.name,
        "config": {"lr": 1e-3, "model": {"layers": 2}},
        "dir": str(tmp_path),
        "writer": "w0",
    }
