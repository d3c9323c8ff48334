"""A provider of OpenID Connect that signs whatever a test asks for, honest or not."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

KEY, OTHER_KEY = RSAKey.generate_key(2048, {"kid": "1"}), RSAKey.generate_key(2048, {"kid": "1"})
CLIENT = "rollscope"


class OddProvider:
    """`claims` and `userinfo` change what it says of people, `about` of itself, `sign` the key."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.claims: dict[str, Any] = {}
        self.userinfo: dict[str, Any] = {}
        self.about: dict[str, Any] = {}
        self.answers = threading.Event()  # cleared, it takes requests and says nothing
        self.answers.set()
        self.sign, self.redirects, self.nonce, self.asked = "", False, "", list[dict[str, list[str]]]()

    def token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "sub": "7", "nonce": self.nonce, "exp": now + 60, "iat": now}
        said = {**claims, "email": "ann@example.org", "groups": ["ml"], **self.claims}
        said = {name: value for name, value in said.items() if value is not None}
        if self.sign == "none":
            return jwt.encode({"alg": "none"}, said, OctKey.import_key("x" * 32), algorithms=["none"])
        if self.sign == "HS256":  # with what everyone knows as the secret
            public = json.dumps(KEY.as_dict(private=False), sort_keys=True)
            return jwt.encode({"alg": "HS256", "kid": "1"}, said, OctKey.import_key(public))
        return jwt.encode({"alg": "RS256", "kid": "1"}, said, OTHER_KEY if self.sign == "other" else KEY)

    def answer(self, path: str) -> Any:
        if path.endswith("openid-configuration"):
            ends = {name: f"{self.url}/{name}" for name in ("token_endpoint", "jwks_uri", "userinfo_endpoint")}
            return {"issuer": self.url, "authorization_endpoint": f"{self.url}/authorize", **ends, **self.about}
        if path == "/jwks_uri":
            return {"keys": [KEY.as_dict(private=False)]}
        if path == "/token_endpoint":
            return {"access_token": "at", "token_type": "Bearer", "id_token": self.token()}
        return {"sub": "7", **self.userinfo}


@contextmanager
def odd_provider() -> Iterator[OddProvider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.answers.wait(120)
            if provider.redirects:
                self.send_response(302)
                self.send_header("location", f"{provider.url}/elsewhere")
                self.end_headers()
                return
            body = json.dumps(provider.answer(urlsplit(self.path).path)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["content-length"])).decode()
            provider.asked.append(parse_qs(sent))
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = OddProvider(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.answers.set()
        server.shutdown()
        server.server_close()
        thread.join()
