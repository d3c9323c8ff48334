"""The application that receives OpenTelemetry and shows nothing: no pages, no runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from rollscope import __version__
from rollscope.server.front.page_loads import PageLoads
from rollscope.server.front.traffic import Traffic
from rollscope.server.routes.receive import otlp

from . import errors
from .assets import Assets
from .security import Guard


class _Readers:
    """Nobody reads here, so nothing is left open when the server stops."""

    def close(self) -> None:
        pass


def create(receiver: otlp.Receives) -> Guard:
    """The application behind the guard that every server has; only this machine is answered."""
    app = FastAPI(title="Rollscope", lifespan=_lifespan, openapi_url=None, docs_url=None, redoc_url=None)
    app.state.otlp, app.state.desks = otlp.Inlet(receiver), _Readers()
    app.state.traffic, app.state.page_loads, app.state.assets = Traffic(), PageLoads(), Assets()
    errors.install(app)
    app.include_router(otlp.router)

    @app.get("/api/health")
    async def health() -> dict[str, str]:
        return {"version": __version__}

    return Guard(app)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.otlp.close()
