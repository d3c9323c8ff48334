"""Parameters that handlers share: the library of runs, and a run's id."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from .library import Library


async def library_of(request: Request) -> Library:
    library: Library = request.app.state.library
    return library


Lib = Annotated[Library, Depends(library_of)]
RunId = Annotated[str, Path(description="run id", max_length=255)]
