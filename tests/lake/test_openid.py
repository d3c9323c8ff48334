"""Sign-in with a real provider of OpenID Connect, from the first page to the run and out again."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from rollscope.lake.place import Place
from tests.lake.life import Life, pushed
from tests.lake.served import PATIENCE, Server
from tests.ports import free_port

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venvs" / "canaille" / "bin" / "python"
PASSWORD = "correct horse battery 9"
PEOPLE = """
issuer = "{issuer}"
client = "rollscope"
address = "{address}"
[person."ann@example.org"]
projects = ["*"]
may = "admin"
[group.ml]
projects = ["nowhere"]
may = "record"
"""


@contextmanager
def canaille(back: str, log: Path) -> Iterator[str]:
    """The provider's address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as said:
        process = subprocess.Popen([PYTHON, HERE / "provider.py", str(port), back], stdout=said, stderr=said)
    try:
        until = time.monotonic() + PATIENCE
        while True:
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            try:
                httpx.get(f"{url}/.well-known/openid-configuration", timeout=PATIENCE)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        process.kill()
        process.wait(PATIENCE)


def signed_in(browser: httpx.Client, start: str, person: str, password: str = PASSWORD) -> httpx.Response:
    """Follow links and fill in the provider's forms, as a person would."""
    reply, filled = browser.get(start), set[str]()
    while forms := re.findall(r'name="(login|password)"', reply.text):
        if forms[0] in filled:
            return reply  # the provider asks again
        filled.add(forms[0])
        hidden = dict(re.findall(r'<input[^>]*name="(csrf_token)"[^>]*value="([^"]*)"', reply.text))
        answer = {"login": person, "password": password}
        reply = browser.post(reply.url, data={**hidden, forms[0]: answer[forms[0]]})
    return reply


def test_people_see_what_the_file_lets_them_see(
    lake: Place, life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    life.grow()
    pushed(lake, life)
    port, people = free_port(), tmp_path / "people.toml"
    address, page = f"http://127.0.0.1:{port}", f"r/{life.path.name}"
    monkeypatch.setenv("ROLLSCOPE_OPENID_SECRET", "a secret of the client")
    with canaille(f"{address}/sign-in/openid/back", tmp_path / "canaille.log") as issuer:
        people.write_text(PEOPLE.format(issuer=issuer, address=address))
        server = Server(lake, tmp_path / "home", "--openid", str(people), port=port)
        try:
            for person, status, ends in (
                ("ann", 200, page),
                ("bob", 404, page),
                ("eve", 401, "sign-in?refused=nobody"),
            ):
                with httpx.Client(base_url=address, timeout=PATIENCE, follow_redirects=True) as browser:
                    assert f"sign in with {issuer.partition('://')[2]}" in browser.get(page).text
                    reply = signed_in(browser, f"sign-in/openid?to={page}", person)
                    assert str(reply.url) == f"{address}/{ends}", reply.text[:500]
                    assert browser.get(f"api/runs/{life.path.name}").status_code == status
                    browser.post("api/session/end")
                    assert browser.get("api/session").status_code == 401
        finally:
            server.kill()
        told = server.said.read_text()
    assert "code=" not in told and "a secret of the client" not in told
