"""Images and videos that a sample points to: files below the run's own folder and no others, as media and never as pages.

Links are resolved before the path is looked at, so neither `..` nor a symbolic link leads out. What is not a known kind of media is refused.
"""

from __future__ import annotations

import os
from pathlib import Path, PureWindowsPath

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, Response

from rollscope.errors import BadInput, NotFound
from rollscope.server.deps import Lib, RunId

router = APIRouter(tags=["rollouts"])
KINDS = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif", ".bmp": "image/bmp", ".svg": "image/svg+xml",
    ".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime", ".m4v": "video/mp4", ".wav": "audio/wav", ".mp3": "audio/mpeg", ".ogg": "audio/ogg",
}  # fmt: skip
HEADERS = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",  # opened by itself, an SVG is a picture: no script, no origin
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


@router.get("/runs/{run}/media/{path:path}", response_class=Response, responses={200: {"description": "the file"}})
def show(request: Request, library: Lib, run: RunId, path: str) -> Response:
    """A file that a sample names, if it lies below the run's folder."""
    with library.reading(run) as found:
        folder = found.path
    file = below(folder, path)
    return FileResponse(file, media_type=KINDS[file.suffix.lower()], headers=HEADERS, content_disposition_type="inline")


def below(folder: str, path: str) -> Path:
    """The real file, if it is one, is media, and lies below the folder's real place."""
    if "\0" in path:
        raise BadInput("a path has no zero byte in it")
    if (
        path.startswith(("/", "\\")) or PureWindowsPath(path).drive
    ):  # not even looked at: on Windows a look at \\host\share leaves the machine
        raise NotFound(f"{path[:120]!r} does not lie below the run's folder, so it is not shown")
    root = Path(os.path.realpath(folder))
    file = Path(os.path.realpath(root / path))
    if not file.is_relative_to(root):
        raise NotFound(f"{path[:120]!r} does not lie below the run's folder, so it is not shown")
    if file.suffix.lower() not in KINDS:
        raise BadInput(f"{file.name[:120]!r} is not an image, a video or a sound: {', '.join(sorted(KINDS))} are shown")
    if not file.is_file():
        raise NotFound(f"no file {path[:120]!r} below the run's folder")
    return file
