"""Images, videos and sounds that a sample points to: files below the run's folder, sent as media.

Links are resolved before the path is checked, so neither `..` nor a symbolic link leads out of the
folder. Files that are not a known kind of media are refused.
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
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".svg": "image/svg+xml",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
    ".mov": "video/quicktime",
    ".m4v": "video/mp4",
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
}
HEADERS = {
    "x-content-type-options": "nosniff",
    # An SVG that is opened by itself is a picture: it runs no script and has no origin.
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


@router.get("/runs/{run}/media/{path:path}", response_class=Response, responses={200: {"description": "the file"}})
def show(request: Request, library: Lib, run: RunId, path: str) -> Response:
    """A file that a sample names, if it lies below the run's folder."""
    with library.reading(run) as reader:
        folder = reader.path
    file = below(folder, path)
    return FileResponse(file, media_type=KINDS[file.suffix.lower()], headers=HEADERS, content_disposition_type="inline")


def below(folder: str, path: str) -> Path:
    """The real path of a media file below a folder; raises if it is not one, or lies elsewhere."""
    if "\0" in path:
        raise BadInput("a path cannot contain a zero byte")
    outside = NotFound(f"{path[:120]!r} does not lie below the run's folder, so it is not shown")
    # An absolute path is not resolved: on Windows, a look at \\host\share leaves the machine.
    if path.startswith(("/", "\\")) or PureWindowsPath(path).drive:
        raise outside
    root = Path(os.path.realpath(folder))
    file = Path(os.path.realpath(root / path))
    if not file.is_relative_to(root):
        raise outside
    if file.suffix.lower() not in KINDS:
        raise BadInput(f"{file.name[:120]!r} is not an image, a video or a sound: {', '.join(sorted(KINDS))} are shown")
    if not file.is_file():
        raise NotFound(f"no file {path[:120]!r} below the run's folder")
    return file
