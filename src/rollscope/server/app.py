"""The server: a list of resources over the library of runs, one page, and a guard in front.

`create(path)` returns the ASGI application; `rollscope serve` runs it.
"""

from __future__ import annotations

import contextlib
import math
import mimetypes
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.responses import Response

from rollscope import __version__
from rollscope.access.book import Book
from rollscope.access.door import Door
from rollscope.errors import NotFound, RollscopeError
from rollscope.notify.target import Target
from rollscope.server.front.page_loads import PageLoads
from rollscope.server.front.traffic import Traffic
from rollscope.server.listing.finding_counts import FindingCounts
from rollscope.server.listing.last_values import LastValues
from rollscope.server.listing.run_rows import RunRows
from rollscope.server.questions.queues import Queues
from rollscope.server.questions.turns import Turns
from rollscope.server.routes.metrics import csv, points, series, why
from rollscope.server.routes.project import (
    compare,
    curves,
    deleted,
    glossary,
    live,
    log,
    openid,
    operation,
    runs,
    session,
    tokens,
)
from rollscope.server.routes.receive import lake, otlp
from rollscope.server.routes.run import environment, findings, notes, output, overview, stop, timeline
from rollscope.server.routes.samples import evals, media, rollouts, samples, search, sets, viewer
from rollscope.server.routes.tables import export, sql
from rollscope.server.sign_in.desks import Desks
from rollscope.server.sign_in.gate import Gate
from rollscope.server.sign_in.needs import may_record_everywhere, permitted, token_of
from rollscope.server.sign_in.provider import Provider
from rollscope.store.project.log import ProjectLog
from rollscope.views.dictionary import meaning

from . import errors, reference
from .assets import Assets
from .doctor import Doctor
from .library import Library
from .notices import Notices
from .security import LOCAL, Guard
from .shapes import Health
from .watcher import Watcher

if TYPE_CHECKING:
    from rollscope.lake.serving.worker import Worker

RESOURCES = (  # the first ones are asked most: routes are tried one after the other
    *(lake, series, runs, timeline, points, overview, findings, notes, samples, rollouts, why),
    *(search, export, media, glossary, sql, live, log, evals, compare, curves, stop, deleted, csv, output, environment),
    *(sets, viewer, session, tokens),
)
PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": errors.Problem, "description": "what was wrong, as a sentence"},
    404: {"model": errors.Problem, "description": "what does not exist"},
}
mimetypes.add_type("text/javascript", ".js")


def create(
    path: str,
    hosts: Iterable[str] = LOCAL,
    root_path: str = "",
    dev: bool = False,
    behind_proxy: bool = False,
    notify: Sequence[Target] = (),
    receiver: otlp.Receives | None = None,
    book: Book | None = None,
    ships: Worker | None = None,
    behind: Callable[[], float] | None = None,
    provider: Provider | None = None,
) -> Guard:
    """The application behind its guard."""
    app = application(path, dev, notify, receiver, book, ships, behind, provider)
    return Guard(app, hosts, root_path, behind_proxy)


def application(
    path: str,
    dev: bool = False,
    notify: Sequence[Target] = (),
    receiver: otlp.Receives | None = None,
    book: Book | None = None,
    ships: Worker | None = None,
    behind: Callable[[], float] | None = None,
    provider: Provider | None = None,
) -> FastAPI:
    """The application without its guard. `dev` reads the web's files again for every page.

    Targets in `notify` are told about the findings of runs that go on. A `receiver` stores what
    OpenTelemetry sends. With a `book` of tokens, who asks must have signed in, and sees the runs of
    their projects alone; people may sign in at a `provider` of OpenID Connect, too. `ships`
    takes what trainers send to a lake, and `behind` says how many seconds ago all of the lake was
    looked at.
    """
    app = FastAPI(
        title="Rollscope",
        version=__version__,
        lifespan=_lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    app.state.assets = Assets()
    app.state.library, app.state.queues, app.state.turns = Library(path), Queues(), Turns()
    app.state.rows = RunRows(app.state.library)
    app.state.project = ProjectLog(path)
    app.state.watcher = Watcher(app.state.library, app.state.rows, app.state.assets.digest, app.state.project)
    app.state.door, app.state.desks = None if book is None else Door(book), Desks(app)
    app.state.provider, app.state.page_loads = provider, PageLoads()
    app.state.doctor = Doctor(path, app.state.desks.tell_findings, app.state.page_loads.is_page)
    app.state.notices = Notices(app.state.doctor, lambda: _running(app), notify)
    app.state.counts, app.state.values = (
        FindingCounts(app.state.library, app.state.doctor, app.state.rows.is_living),
        LastValues(app.state.library),
    )
    app.state.otlp = None if receiver is None else otlp.Inlet(receiver)
    app.state.traffic, app.state.behind = Traffic(), behind
    app.state.intake = None if ships is None else lake.Inlet(ships)
    errors.install(app)
    if app.state.door is not None:
        app.add_middleware(Gate, door=app.state.door, desks=app.state.desks)
    itself = cast(FastAPI, weakref.proxy(app))  # FastAPI keeps handlers for ever; they must not keep the application
    app.include_router(_api(itself))
    app.include_router(operation.router, responses=PROBLEMS)
    app.include_router(openid.router)
    if receiver is not None:
        app.include_router(otlp.router, responses=PROBLEMS, dependencies=[Depends(may_record_everywhere)])
    _pages(itself, dev)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    threading.Thread(target=_warm, args=(app,), daemon=True, name="rollscope-warm").start()
    app.state.notices.start()
    yield
    app.state.notices.close()
    app.state.rows.close()
    app.state.counts.close()
    app.state.desks.close()
    app.state.doctor.close()
    app.state.queues.close()
    if app.state.otlp is not None:
        app.state.otlp.close()


def _running(app: FastAPI) -> list[str]:
    return [str(kept.facts["id"]) for kept in app.state.rows.rows()[0] if kept.state == "running"]


def _warm(app: FastAPI) -> None:
    """Read what the first page needs while the browser starts: the catalogue and the runs.

    Then diagnose runs, as they are asked for.
    """
    with contextlib.suppress(RollscopeError, OSError):
        meaning("policy/entropy")
        app.state.rows.fill(app.state.desks.tell_runs)
    app.state.counts.work(app.state.desks.tell_runs)


def _api(app: FastAPI) -> APIRouter:
    api = APIRouter(
        prefix="/api", dependencies=[Depends(permitted), Depends(errors.known_parameters)], responses=PROBLEMS
    )
    for resource in RESOURCES:
        api.include_router(resource.router)

    @api.get("/health", tags=["server"])
    async def health() -> Health:
        """The version of the server and of the web, and how far it is behind its lake."""
        behind = math.nan if app.state.behind is None else app.state.behind()
        seconds = round(behind, 1) if math.isfinite(behind) else None
        return {"version": __version__, "web": app.state.assets.digest, "lake_behind_seconds": seconds}

    return api


def _pages(app: FastAPI, dev: bool) -> None:
    def assets() -> Assets:
        if dev:  # a saved file is seen on reload
            app.state.assets = Assets()
        current: Assets = app.state.assets
        return current

    @app.get("/api", include_in_schema=False)
    @app.get("/api/", include_in_schema=False)
    def api_page(request: Request) -> Response:
        up = "../" if request.url.path.endswith("/") else "./"
        text = reference.page(app.openapi(), f"{up}web/{assets().digest}/", f"{up}api/openapi.json")
        return Response(text, media_type="text/html", headers={"content-security-policy": reference.STYLE_POLICY})

    @app.get("/sign-in", include_in_schema=False)
    def sign_in(refused: str = "") -> Response:
        provider: Provider | None = app.state.provider
        return assets().sign_in("" if provider is None else provider.name, openid.WHY.get(refused, ""))

    @app.get("/frame", include_in_schema=False)
    def frame() -> Response:
        return assets().frame()

    @app.get("/{path:path}", include_in_schema=False)
    def page(request: Request, path: str) -> Response:
        if path.startswith(("api/", "web/")):
            raise NotFound(f"there is nothing at /{path[:120]}")
        token = token_of(request)
        return assets().page(path, "" if token is None else token.name, request.query_params)
