"""Tokens over HTTP: an admin makes, lists and revokes those of their own projects."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from rollscope.access import tokens
from rollscope.access.book import EVERY, May, Token
from rollscope.errors import NotFound
from rollscope.server.reply import as_json
from rollscope.server.shapes import NewToken, TokenList, TokenShape
from rollscope.server.sign_in.needs import token_of

from .session import door_of

router = APIRouter(tags=["session"])
Text = Annotated[str, Field(max_length=255)]


class Wanted(BaseModel):
    """A token to make: for whom, of which projects, what it allows, and for how long."""

    model_config = ConfigDict(extra="forbid")
    name: Text
    projects: Annotated[list[Text], Field(min_length=1, max_length=1000)]
    may: May = "read"
    days: Annotated[float, Field(gt=0, le=tokens.MOST_DAYS)] = 90


class Which(BaseModel):
    model_config = ConfigDict(extra="forbid")
    id: Text


@router.get("/tokens")
@as_json
def index(request: Request) -> TokenList:
    """The tokens of your projects, the newest first; the text of none."""
    return {"tokens": [_shape(token) for token in door_of(request).book.tokens() if _is_below(request, token)]}


@router.post("/tokens")
@as_json
def create(request: Request, wanted: Wanted) -> NewToken:
    """Make a token of some of your projects. Its text is in this answer and nowhere else."""
    asker = token_of(request)
    for project in wanted.projects:
        if asker is not None and EVERY not in asker.projects and project not in asker.projects:
            raise NotFound(f"there is no project {project[:80]!r} among yours")
    by = "" if asker is None else asker.name
    made = tokens.make(door_of(request).book, wanted.name, wanted.projects, wanted.may, wanted.days, by=by)
    return {"token": made[1], "about": _shape(made[0])}


@router.post("/tokens/revoke")
@as_json
def revoke(request: Request, which: Which) -> TokenList:
    """Revoke a token of your projects; its sessions end, too."""
    book, asker = door_of(request).book, token_of(request)
    found = book.token(which.id)
    if found is None or not _is_below(request, found[0]):
        raise NotFound(f"there is no token {which.id[:80]!r} among those of your projects")
    gone = tokens.revoke(book, which.id, "" if asker is None else asker.name)
    return {"tokens": [_shape(token) for token in gone]}


def _is_below(request: Request, token: Token) -> bool:
    """True if a token sees nothing that the asker does not see."""
    asker = token_of(request)
    if asker is None or asker.allowed is None:
        return True
    mine, theirs = asker.allowed, token.allowed
    in_sight = request.app.state.library.entry
    return (
        theirs is not None
        and theirs.projects <= mine.projects
        and all(in_sight(run) is not None for run in theirs.runs)
        and all(request.app.state.project.entry("board", board) is not None for board in theirs.boards)
    )


def _shape(token: Token) -> TokenShape:
    return cast(TokenShape, token.json())
