"""A provider of OpenID Connect: where a browser signs in, and who it says has signed in.

The provider is known by discovery. What it answers counts only with its own signature, for us, for
this sign-in, and for now.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rollscope.access.begun import Begun
from rollscope.access.people import People
from rollscope.errors import BadInput, MachineBusy, MissingExtra, NotSignedIn

SECRET = "ROLLSCOPE_OPENID_SECRET"
WELL_KNOWN = "/.well-known/openid-configuration"
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")
SIGNATURES = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
SECONDS = 10.0  # that the provider may take to answer
LEEWAY = 30  # seconds that two clocks may differ
KEPT_SECONDS = 3600.0  # that what the provider says of itself is kept
AT_ONCE = 4  # sign-ins that ask the provider: one that hangs must not take all threads of the server


class Provider:
    """Threads may ask at once."""

    def __init__(self, people: People) -> None:
        try:
            import authlib.integrations.requests_client  # noqa: F401
            import joserfc  # noqa: F401
        except ImportError as error:
            raise MissingExtra("authlib", "sign-in", "sign-in with OpenID Connect") from error
        self.people = people
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._known: tuple[float, dict[str, Any]] | None = None

    @property
    def name(self) -> str:
        """The provider's name for people."""
        return self.people.issuer.partition("://")[2].rstrip("/")

    def address(self, begun: Begun) -> str:
        """Where the browser signs in. Raises MachineBusy if the provider keeps others waiting."""
        with self._turn():
            about = self._about()
        url, _ = self._client().create_authorization_url(
            about["authorization_endpoint"], begun.state, begun.verifier, nonce=begun.nonce
        )
        return str(url)

    def claims(self, code: str, begun: Begun) -> Mapping[str, Any]:
        """What the provider says of the person who came back with this code.

        Raises MachineBusy if the provider keeps others waiting.
        """
        with self._turn():
            return self._claims(code, begun)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self._turns.acquire(blocking=False):
            raise MachineBusy(f"{AT_ONCE} sign-ins wait for {self.name}. Try again in a moment.")
        try:
            yield
        finally:
            self._turns.release()

    def _claims(self, code: str, begun: Begun) -> Mapping[str, Any]:
        about, client = self._about(), self._client()
        answer = client.fetch_token(
            about["token_endpoint"], code=code, code_verifier=begun.verifier, timeout=SECONDS, allow_redirects=False
        )
        signed = self._checked(str(answer.get("id_token", "")), about, begun.nonce)
        wanted = {self.people.name_claim, self.people.groups_claim}
        if wanted <= signed.keys() or "userinfo_endpoint" not in about:
            return signed
        more = client.get(about["userinfo_endpoint"], timeout=SECONDS, allow_redirects=False).json()
        if more.get("sub") != signed["sub"]:
            raise NotSignedIn("the provider told of another person than the one who signed in")
        return {**more, **signed}

    def _checked(self, token: str, about: Mapping[str, Any], nonce: str) -> dict[str, Any]:
        """The claims of a token that the provider signed, for us, for this sign-in, and for now."""
        from joserfc import jwt
        from joserfc.jwk import KeySet

        keys = KeySet.import_key_set(self._json(about["jwks_uri"]))
        claims = jwt.decode(token, keys, algorithms=SIGNATURES).claims
        exact = {"iss": self.people.issuer, "aud": self.people.client, "nonce": nonce}
        rules: dict[str, Any] = {name: {"essential": True, "value": value} for name, value in exact.items()}
        jwt.JWTClaimsRegistry(leeway=LEEWAY, exp={"essential": True}, sub={"essential": True}, **rules).validate(claims)
        if claims.get("azp", self.people.client) != self.people.client:
            raise NotSignedIn("the provider's token is for another program")
        return dict(claims)

    def _client(self) -> Any:
        from authlib.integrations.requests_client import OAuth2Session

        secret = os.environ.get(SECRET) or None
        return OAuth2Session(
            self.people.client,
            secret,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            scope="openid profile email groups",
            redirect_uri=self.people.back,
            code_challenge_method="S256",
        )

    def _about(self) -> dict[str, Any]:
        """What the provider says of itself, kept for an hour."""
        with self._lock:
            if self._known is None or time.monotonic() - self._known[0] > KEPT_SECONDS:
                about = self._json(self.people.issuer.rstrip("/") + WELL_KNOWN)
                if about.get("issuer") != self.people.issuer or not all(about.get(name) for name in NEEDED):
                    raise BadInput(
                        f"{self.people.issuer} calls itself {str(about.get('issuer'))[:200]!r}:"
                        " `issuer` must be the provider's own name for itself, to the letter"
                    )
                self._known = time.monotonic(), about
            return self._known[1]

    def _json(self, url: str) -> Any:
        import requests

        answer = requests.get(url, timeout=SECONDS, allow_redirects=False)
        answer.raise_for_status()
        return answer.json()
