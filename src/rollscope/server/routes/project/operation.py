"""How the server itself does: `/metrics` for Prometheus, and what `/api/health` says of a lake."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from rollscope.errors import NotAllowed
from rollscope.server.front import traffic
from rollscope.server.sign_in.needs import token_of

router = APIRouter(tags=["server"])


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Requests, errors, and how far the server is behind its lake, as Prometheus reads them.

    With sign-in it needs a token of every project, since it counts what all of them do.
    """
    token = token_of(request)
    if token is not None and token.allowed is not None:
        raise NotAllowed(f"/metrics counts every project, and {token.name} may {token.may} some alone")
    state = request.app.state
    text = traffic.text(state.traffic, _gauges(state), _counters(state))
    return Response(text, media_type=traffic.MEDIA_TYPE, headers={"cache-control": "no-store"})


def _gauges(state: Any) -> dict[str, tuple[float, str]]:
    found: dict[str, tuple[float, str]] = {}
    if state.behind is not None:
        found["rollscope_lake_behind_seconds"] = state.behind(), "Seconds since all of the lake was looked at."
    if state.intake is not None:
        ships, puts = state.intake.ships, state.intake.puts
        found["rollscope_ships_waiting"] = ships.waiting, "Ships of trainers that wait or are under way."
        found["rollscope_puts_waiting"] = puts.waiting, "Objects of trainers that wait or are under way."
        found["rollscope_ship_seconds"] = ships.seconds, "Seconds that a ship took lately."
    return found


def _counters(state: Any) -> dict[str, tuple[int, str]]:
    if state.intake is None:
        return {}
    return {
        "rollscope_ships_total": (state.intake.ships.done, "Ships of trainers that the lake has."),
        "rollscope_objects_total": (state.intake.puts.done, "Objects of trainers that were taken."),
    }
