"""Who is signed in: begin a session with a token, ask who one is, and end it."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from rollscope.access.book import EVERY, Token
from rollscope.access.door import Door
from rollscope.access.sessions import Session
from rollscope.errors import NotFound, NotSignedIn, TooOften
from rollscope.server.reply import as_json, json_reply
from rollscope.server.shapes import SessionShape
from rollscope.server.sign_in.needs import token_of

router = APIRouter(tags=["session"])
NOBODY: SessionShape = {"signed_in": False, "name": "", "may": "admin", "projects": [EVERY], "runs": [], "ends_ns": 0}


class Key(BaseModel):
    """A token."""

    model_config = ConfigDict(extra="forbid")
    token: Annotated[str, Field(max_length=400)]


@router.get("/session")
@as_json
def show(request: Request) -> SessionShape:
    """Who asks, what they may do, in which projects. Without sign-in everyone may do all."""
    token = token_of(request)
    return NOBODY if token is None else _shape(token)


@router.post("/session", response_model=SessionShape)
def create(request: Request, key: Key) -> Response:
    """Sign in with a token: the answer sets a cookie that stands for it."""
    door = door_of(request)
    try:
        token, session, cookie = door.sign_in(key.token)
    except NotSignedIn as error:
        client = request.client.host if request.client else ""
        if door.wrong.wait(client):
            raise TooOften("too many tokens from here were wrong. Try again in a minute.") from error
        door.tell(None, "refused", f"sign-in from {client}")
        raise
    reply = json_reply(_shape(token))
    give(reply, door, session, cookie, _is_secure(request))
    return reply


def give(reply: Response, door: Door, session: Session, cookie: str, secure: bool) -> None:
    """Let an answer set the cookie of a session."""
    seconds = max(0, int(session.ends_ns / 1e9 - time.time()))
    reply.set_cookie(door.cookie, cookie, max_age=seconds, path="/", secure=secure, httponly=True, samesite="lax")


@router.post("/session/end", response_model=SessionShape)
def end(request: Request) -> Response:
    """Sign out: the session holds nowhere any more."""
    door = door_of(request)
    door.sign_out(request.cookies.get(door.cookie, ""))
    reply = json_reply({**NOBODY, "may": "read", "projects": []})
    reply.delete_cookie(door.cookie, path="/", secure=_is_secure(request), httponly=True, samesite="lax")
    return reply


def door_of(request: Request) -> Door:
    """What a server with sign-in asks; an error where there is none."""
    door: Door | None = request.app.state.door
    if door is None:
        raise NotFound("this server has no sign-in: everyone who reaches it may see all runs")
    return door


def _shape(token: Token) -> SessionShape:
    return {
        "signed_in": True,
        "name": token.name,
        "may": token.may,
        "projects": list(token.projects),
        "runs": list(token.runs),
        "ends_ns": float(token.ends_ns),
    }


def _is_secure(request: Request) -> bool:
    """True if the browser came over TLS, to us or to a proxy. Who lies has a useless cookie."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
