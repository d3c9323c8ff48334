"""Canaille, a provider of OpenID Connect, in a process of its own: `provider.py PORT ADDRESS`.

It runs in `.venvs/canaille`. It has three people: ann; bob, who is in the group ml; and eve.
"""

from __future__ import annotations

import datetime
import sys

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from joserfc.jwk import RSAKey

PASSWORD = "correct horse battery 9"


def main() -> None:
    port, back = int(sys.argv[1]), sys.argv[2]
    app = create_app(
        {
            "SECRET_KEY": "of a test",
            "SERVER_NAME": f"127.0.0.1:{port}",
            "PREFERRED_URL_SCHEME": "http",
            "CANAILLE": {"DATABASE": "memory"},
            "CANAILLE_OIDC": {
                "ACTIVE_JWKS": [RSAKey.generate_key(2048).as_dict(private=True)],
                "TRUSTED_DOMAINS": ["127.0.0.1"],
            },
        }
    )
    with app.app_context():
        people = {name: _person(name) for name in ("ann", "bob", "eve")}
        Backend.instance.save(models.Group(display_name="ml", members=[people["bob"]]))
        client = _client(back)
        Backend.instance.save(client)
        client.audience = [client]  # as for a client that registers itself
        Backend.instance.save(client)
    app.run("127.0.0.1", port)


def _person(name: str) -> models.User:
    names = {"user_name": name, "family_name": name, "formatted_name": name}
    person = models.User(**names, emails=[f"{name}@example.org"], password=PASSWORD)
    Backend.instance.save(person)
    return person


def _client(back: str) -> models.Client:
    return models.Client(
        client_id="rollscope",
        client_secret="a secret of the client",
        client_name="Rollscope",
        client_uri="http://127.0.0.1",
        redirect_uris=[back],
        grant_types=["authorization_code"],
        response_types=["code"],
        scope=["openid", "profile", "email", "groups"],
        token_endpoint_auth_method="client_secret_basic",
        client_id_issued_at=datetime.datetime.now(datetime.UTC),
    )


if __name__ == "__main__":
    main()
