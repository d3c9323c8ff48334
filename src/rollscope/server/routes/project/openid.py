"""Sign in at a provider: lead the browser there, and let in whom the provider names.

A return that cannot be taken leads back to the sign-in page, which says why; the audit has more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from rollscope.access import begun as sign_ins
from rollscope.access import sessions, tokens
from rollscope.access.begun import SECONDS, Begun
from rollscope.access.door import Door
from rollscope.access.people import People
from rollscope.errors import MachineBusy, NotFound, NotSignedIn
from rollscope.server.sign_in.provider import Provider

from .session import door_of, give

router = APIRouter(include_in_schema=False)
WHY = {
    "again": sign_ins.AGAIN,
    "nobody": "you are signed in at the provider, but not known here. Ask who runs this server to let you in.",
    "provider": "the provider did not confirm who you are. Try again, or ask who runs this server.",
    "busy": "the provider keeps others waiting. Try again in a moment.",
    "often": "too many sign-ins from here failed. Try again in a minute.",
}


@router.get("/sign-in/openid")
def leave(request: Request, to: str = "") -> Response:
    """Lead the browser to the provider."""
    provider, door = _provider(request), door_of(request)
    begun = sign_ins.begin(to)
    try:
        reply = RedirectResponse(provider.address(begun), 303, {"cache-control": "no-store"})
    except MachineBusy as error:
        return _refused(request, door, "busy", error)
    except Exception as error:  # whatever a provider answers, the person gets a sentence
        return _refused(request, door, "provider", error)
    value, secure = sign_ins.written(door.book.key(), begun), provider.people.address.startswith("https")
    reply.set_cookie(_cookie(door), value, max_age=SECONDS, path="/", secure=secure, httponly=True, samesite="lax")
    return reply


@router.get("/sign-in/openid/back")
def back(request: Request, code: str = "", state: str = "", iss: str = "") -> Response:
    """Take the person who comes back from the provider, once."""
    provider, door = _provider(request), door_of(request)
    try:
        begun = _own(door, request.cookies.get(_cookie(door), ""), state)
    except NotSignedIn as error:
        return _refused(request, door, "again", error)
    try:
        if iss and iss != provider.people.issuer:
            raise NotSignedIn(f"a return from {iss[:200]!r}, where nobody was sent")
        claims = provider.claims(code, begun)
        name = _name(claims, provider.people)
    except MachineBusy as error:
        return _refused(request, door, "busy", error)
    except Exception as error:
        return _refused(request, door, "provider", error)
    return _let_in(request, provider.people, begun, name, _groups(claims, provider.people))


def _let_in(request: Request, people: People, begun: Begun, name: str, groups: list[str]) -> Response:
    """A session for a person whom the file knows."""
    door, grant = door_of(request), people.grant(name, groups)
    if grant is None:
        return _refused(request, door, "nobody", NotSignedIn(name[:100]))
    token, _ = tokens.make(door.book, name, grant.projects, grant.may, people.hours / 24, by=f"OpenID: {name}")
    session, cookie = sessions.begin(door.book, token)
    door.tell(token, "signed in", f"with {token.id}, at {people.issuer}")
    path = begun.to.lstrip("/\\")
    reply = RedirectResponse(f"{people.address}/{path}", 303, {"cache-control": "no-store"})
    give(reply, door, session, cookie, people.address.startswith("https"))
    reply.delete_cookie(_cookie(door), path="/")
    return reply


def _own(door: Door, cookie: str, state: str) -> Begun:
    """What this browser began. A return counts once."""
    begun = sign_ins.read(door.book.key(), cookie, state)
    if door.book.is_ended(begun.state):
        raise NotSignedIn(sign_ins.AGAIN)
    door.book.end_session(begun.state, begun.ends_ns)
    return begun


def _name(claims: Mapping[str, Any], people: People) -> str:
    """The person's name; a mail address only if the provider does not doubt it."""
    name = claims.get(people.name_claim)
    if not isinstance(name, str) or not name.strip():
        raise NotSignedIn(f"the provider sent no {people.name_claim!r}")
    if people.name_claim == "email" and claims.get("email_verified") is False:
        raise NotSignedIn(f"the provider has not verified the address {name[:100]!r}")
    return name.strip()


def _groups(claims: Mapping[str, Any], people: People) -> list[str]:
    found = claims.get(people.groups_claim)
    return [str(one) for one in found] if isinstance(found, list) else []


def _provider(request: Request) -> Provider:
    provider: Provider | None = request.app.state.provider
    if provider is None:
        raise NotFound("this server has no provider to sign in at: see --openid of `rollscope serve`")
    return provider


def _cookie(door: Door) -> str:
    return f"{door.cookie}_begun"


def _refused(request: Request, door: Door, why: str, error: Exception) -> Response:
    """Back to the sign-in page, with the reason for the person there and for us in the audit."""
    client = request.client.host if request.client else ""
    if door.wrong.wait(client):
        why = "often"
    else:
        door.tell(None, "refused", f"OpenID sign-in from {client}: {str(error)[:300] or type(error).__name__}")
    up = "../" if request.url.path.endswith("/openid") else "../../"
    return RedirectResponse(f"{up}sign-in?refused={why}", 303, {"cache-control": "no-store"})
