"""What handlers are given: the library of runs, and the parameter check."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from .library import Library


def library_of(request: Request) -> Library:
    found: Library = request.app.state.library
    return found


Lib = Annotated[Library, Depends(library_of)]
RunId = Annotated[str, Path(description="run id", max_length=255)]
