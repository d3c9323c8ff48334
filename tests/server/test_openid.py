"""Sign-in at a provider: an honest return is let in once, every other is refused and kept."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from rollscope.access.people import Grant, People
from rollscope.access.sqlite_book import SqliteBook
from rollscope.server.app import create
from rollscope.server.sign_in import provider as provider_module
from rollscope.server.sign_in.provider import AT_ONCE, Provider
from tests.server.odd_provider import CLIENT, OddProvider, odd_provider
from tests.server.two_projects import OURS, THEIRS, record

HERE = "http://127.0.0.1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("openid") / "runs"
    record(made)
    return made


@pytest.fixture
def odd() -> Iterator[OddProvider]:
    with odd_provider() as provider:
        yield provider


@pytest.fixture
def client(folder: Path, odd: OddProvider) -> Iterator[TestClient]:
    persons, groups = {"root@example.org": Grant(("*",), "admin")}, {"ml": Grant(("ours",), "record")}
    provider = Provider(People(odd.url, CLIENT, HERE, persons, groups))
    app = create(str(folder), book=SqliteBook(str(folder)), provider=provider)
    with TestClient(app, base_url=HERE, raise_server_exceptions=False, follow_redirects=False) as client:
        yield client


def gone(client: TestClient, odd: OddProvider, to: str = "") -> dict[str, str]:
    """What the browser takes to the provider."""
    reply = client.get("/sign-in/openid", params={"to": to})
    assert reply.status_code == 303, reply.text
    asked = {name: value for name, (value,) in parse_qs(urlsplit(reply.headers["location"]).query).items()}
    odd.nonce = asked["nonce"]
    return asked


def back(client: TestClient, state: str) -> Any:
    return client.get("/sign-in/openid/back", params={"code": "c", "state": state})


def said(folder: Path) -> str:
    return SqliteBook(str(folder)).events(1)[0].about


def test_a_person_of_a_group_sees_its_projects(client: TestClient, odd: OddProvider, folder: Path) -> None:
    asked = gone(client, odd, f"r/{OURS}/metrics")
    assert asked["code_challenge_method"] == "S256" and asked["redirect_uri"] == f"{HERE}/sign-in/openid/back"
    reply = back(client, asked["state"])
    assert reply.status_code == 303 and reply.headers["location"] == f"{HERE}/r/{OURS}/metrics"
    assert odd.asked[0]["code_verifier"][0] not in (asked["code_challenge"], asked["state"])
    me = client.get("/api/session").json()
    assert (me["name"], me["may"], me["projects"]) == ("ann@example.org", "record", ["ours"])
    assert client.get(f"/api/runs/{OURS}").status_code == 200
    assert client.get(f"/api/runs/{THEIRS}").status_code == 404
    assert client.post("/api/session/end").status_code == 200
    assert client.get("/api/session").status_code == 401


def test_an_own_entry_goes_before_a_group(client: TestClient, odd: OddProvider) -> None:
    odd.claims = {"email": "root@example.org"}
    assert back(client, gone(client, odd)["state"]).headers["location"] == f"{HERE}/"
    assert client.get("/api/session").json()["may"] == "admin"


def test_groups_may_come_from_the_providers_other_answer(client: TestClient, odd: OddProvider) -> None:
    odd.claims, odd.userinfo = {"groups": None}, {"groups": ["ml"]}
    back(client, gone(client, odd)["state"])
    assert client.get("/api/session").json()["projects"] == ["ours"]


LIES: dict[str, dict[str, Any]] = {
    "another issuer": {"claims": {"iss": "https://evil.example.org"}},
    "for another program": {"claims": {"aud": "other"}},
    "for several, given to another": {"claims": {"aud": [CLIENT, "other"], "azp": "other"}},
    "over": {"claims": {"exp": 1}},
    "without an end": {"claims": {"exp": None}},
    "of another sign-in": {"claims": {"nonce": "other"}},
    "without a nonce": {"claims": {"nonce": None}},
    "not signed": {"sign": "none"},
    "signed with the public key as a secret": {"sign": "HS256"},
    "signed by someone else": {"sign": "other"},
    "without a name": {"claims": {"email": None}},
    "a name that is not a text": {"claims": {"email": {"a": 1}}},
    "an address that is not verified": {"claims": {"email_verified": False}},
    "another person's groups": {"claims": {"groups": None}, "userinfo": {"sub": "8", "groups": ["ml"]}},
}


@pytest.mark.parametrize("lie", LIES)
def test_what_a_provider_must_not_say_is_refused(client: TestClient, odd: OddProvider, folder: Path, lie: str) -> None:
    for name, value in LIES[lie].items():
        setattr(odd, name, value)
    reply = back(client, gone(client, odd)["state"])
    assert reply.status_code == 303 and reply.headers["location"] == "../../sign-in?refused=provider"
    assert client.get("/api/session").status_code == 401
    assert said(folder).startswith("OpenID sign-in from testclient: ")
    page = client.get("/sign-in?refused=provider").text
    assert "The provider did not confirm who you are" in page and "sign-in/openid" in page


def test_a_return_from_another_provider_is_refused(client: TestClient, odd: OddProvider) -> None:
    asked = {"code": "c", "state": gone(client, odd)["state"], "iss": "https://evil.example.org"}
    assert client.get("/sign-in/openid/back", params=asked).headers["location"].endswith("refused=provider")
    assert not odd.asked, "the code is for the other one"


def test_who_is_not_in_the_file_stays_out(client: TestClient, odd: OddProvider, folder: Path) -> None:
    odd.claims = {"email": "eve@example.org", "groups": ["others", 7, None]}
    reply = back(client, gone(client, odd)["state"])
    assert reply.headers["location"].endswith("refused=nobody") and "eve@example.org" in said(folder)
    assert client.get("/api/session").status_code == 401


def test_a_return_counts_once_and_in_its_own_browser(client: TestClient, odd: OddProvider) -> None:
    cookie = "; ".join(f"{one.name}={one.value}" for one in client.cookies.jar)
    asked = gone(client, odd)
    begun = {one.name: one.value for one in client.cookies.jar}
    assert back(client, asked["state"] + "x").headers["location"].endswith("refused=again")
    client.cookies.clear()
    assert back(client, asked["state"]).headers["location"].endswith("refused=again"), "another browser"
    client.cookies.update({name: value[:-2] + "xx" for name, value in begun.items()})
    assert back(client, asked["state"]).headers["location"].endswith("refused=again"), "a changed cookie"
    client.cookies.clear()
    client.cookies.update(begun)
    assert back(client, asked["state"]).headers["location"] == f"{HERE}/"
    client.cookies.clear()
    client.cookies.update(begun)
    assert back(client, asked["state"]).headers["location"].endswith("refused=again"), "a second time"
    assert not cookie


@pytest.mark.parametrize("to", ["//evil.example.org", "/\\evil.example.org", "https://evil.example.org/x"])
def test_it_leads_to_this_server_alone(client: TestClient, odd: OddProvider, to: str) -> None:
    reply = back(client, gone(client, odd, to)["state"])
    assert reply.headers["location"].startswith(f"{HERE}/")


@pytest.mark.parametrize("fault", [{"about": {"issuer": "https://other"}}, {"redirects": True}])
def test_a_provider_that_is_another_one_is_not_asked(client: TestClient, odd: OddProvider, fault: Any) -> None:
    for name, value in fault.items():
        setattr(odd, name, value)
    assert client.get("/sign-in/openid").headers["location"] == "../sign-in?refused=provider"


def test_a_server_without_a_provider_says_so(folder: Path) -> None:
    app = create(str(folder), book=SqliteBook(str(folder)))
    with TestClient(app, base_url=HERE) as client:
        assert client.get("/sign-in/openid").status_code == 404
        assert 'class="provider" hidden' in client.get("/sign-in").text


def test_a_provider_that_hangs_takes_few_threads_of_the_server(
    client: TestClient, odd: OddProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "SECONDS", 120.0)  # nobody gives up before all have asked
    odd.answers.clear()
    with ThreadPoolExecutor(AT_ONCE + 4) as browsers:
        leaving = [browsers.submit(client.get, "/sign-in/openid") for _ in range(AT_ONCE + 4)]
        told = [one.result(60).headers["location"] for one in islice(as_completed(leaving, 60), 4)]
        assert told == ["../sign-in?refused=busy"] * 4
        assert client.get("/api/health").status_code == 200
        odd.answers.set()
    assert "keeps others waiting" in client.get("/sign-in?refused=busy").text
    assert gone(client, odd)["state"]  # people who come later are led there
