"""The videos that RLinf's `RecordVideo` saves: `<video_base_dir>/seed_<seed>/<number>.mp4`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple


class Video(NamedTuple):
    """A video that was saved."""

    path: Path
    number: int


def latest(env: Any) -> Video | None:
    """The last video of an environment; None if RLinf records none, or it is not there."""
    recorder = next((one for one in wrapped(env) if "video_cnt" in vars(one)), None)
    if recorder is None or recorder.video_cnt < 1:
        return None
    number = int(recorder.video_cnt) - 1
    path = Path(recorder.video_cfg.video_base_dir) / f"seed_{recorder.env.seed}" / f"{number}.mp4"
    return Video(path, number) if path.is_file() else None


def wrapped(env: Any) -> list[Any]:
    """An environment and those inside it."""
    found: list[Any] = []
    while env is not None and hasattr(env, "__dict__") and len(found) < 10:
        found.append(env)
        env = vars(env).get("env")
    return found
