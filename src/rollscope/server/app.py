"""The server: a list of resources over the library of runs, one page for everything a person opens, and a guard in front.

`create(path)` gives the ASGI application; `rollscope serve` runs it.
"""

from __future__ import annotations

import contextlib
import mimetypes
import threading
from collections.abc import Iterable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.responses import Response

from rollscope import __version__
from rollscope.errors import NotFound, RollscopeError
from rollscope.server.routes import (
    export,
    findings,
    glossary,
    live,
    media,
    notes,
    overview,
    points,
    reference,
    rollouts,
    runs,
    samples,
    search,
    series,
    sql,
    why,
)
from rollscope.views.dictionary import meaning

from . import errors
from .assets import Assets
from .doctor import Doctor
from .library import Library
from .security import LOCAL, Guard
from .shapes import Health

RESOURCES = (
    runs,
    series,
    points,
    overview,
    findings,
    notes,
    samples,
    rollouts,
    why,
    search,
    export,
    media,
    glossary,
    sql,
    live,
)
mimetypes.add_type("text/javascript", ".js")


def create(path: str, hosts: Iterable[str] = LOCAL, root_path: str = "", dev: bool = False) -> Guard:
    """The application behind its guard."""
    return Guard(application(path, dev), hosts, root_path)


def application(path: str, dev: bool = False) -> FastAPI:
    library, assets = Library(path), Assets()

    @asynccontextmanager
    async def life(app: FastAPI) -> Any:
        threading.Thread(target=_warm, args=(app,), daemon=True, name="rollscope-warm").start()
        yield
        app.state.watcher.close()
        app.state.doctor.close()

    app = FastAPI(
        title="Rollscope",
        version=__version__,
        lifespan=life,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.library, app.state.asked, app.state.assets = library, Library(path), assets
    app.state.watcher = live.Watcher(library, assets.digest)
    app.state.doctor = Doctor(path, app.state.watcher.found)
    errors.install(app)
    api = APIRouter(
        prefix="/api",
        dependencies=[Depends(errors.known_parameters)],
        responses={
            400: {"model": errors.Problem, "description": "what was wrong, as a sentence"},
            404: {"model": errors.Problem, "description": "what is not there"},
        },
    )
    for resource in RESOURCES:
        api.include_router(resource.router)

    @api.get("/health", tags=["server"])
    def health() -> Health:
        """Which version answers."""
        return {"version": __version__, "web": app.state.assets.digest}

    app.include_router(api)
    _pages(app, dev)
    return app


def _warm(app: FastAPI) -> None:
    """Read what the first page will ask for while the browser starts: the catalogue's index and the newest runs."""
    library: Library = app.state.library
    with contextlib.suppress(RollscopeError, OSError):
        meaning("policy/entropy")
        for id in library.ids():
            with library.reading(id) as run:
                runs.kept_row(library, id, run)
                runs.kept_names(library, id, run)


def _pages(app: FastAPI, dev: bool) -> None:
    def assets() -> Assets:
        if dev:  # the files as they are now, so that a saved file is seen on reload
            app.state.assets = Assets()
        found: Assets = app.state.assets
        return found

    @app.get("/api", include_in_schema=False)
    @app.get("/api/", include_in_schema=False)
    def api_page(request: Request) -> Response:
        up = "../" if request.url.path.endswith("/") else "./"
        text = reference.page(app.openapi(), f"{up}web/{assets().digest}/").replace(
            "href='openapi.json'", f"href='{up}api/openapi.json'"
        )
        return Response(text, media_type="text/html", headers={"content-security-policy": reference.STYLE_POLICY})

    @app.get("/{path:path}", include_in_schema=False)
    def page(request: Request, path: str) -> Response:
        if path.startswith(("api/", "web/")):
            raise NotFound(f"nothing is at /{path[:120]}")
        return assets().page(path)
