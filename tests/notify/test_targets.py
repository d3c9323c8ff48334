"""What a person writes as a target, and what each kind of target gets."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from rollscope.errors import BadInput
from rollscope.notify.delivery import NotSent, Refused
from rollscope.notify.notice import Notice
from rollscope.notify.target import fingerprint, target
from tests.ports import free_port

from .conftest import Hook, found

NOTICE = Notice.of(found(claim="KL <!channel> *took* off @everyone"), "opened", "run-1", "grpo-1")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://hooks.slack.com/services/T/B/x", "the Slack webhook at hooks.slack.com"),
        ("https://discord.com/api/webhooks/1/x", "the Discord webhook at discord.com"),
        ("https://example.org/x?token=y", "the webhook at example.org"),
        ("slack+https://chat.example.org/x", "the Slack webhook at chat.example.org"),
        ("smtp://me%40example.org:pw@mail.example.org/you@example.org,us@example.org", "mail by mail.example.org to 2"),
        ("command:/usr/bin/notify-send 'a b'", "the command notify-send"),
    ],
)
def test_a_target_is_shown_without_its_secret(text: str, shown: str) -> None:
    one = target(text)
    assert one.shown == shown and "pw" not in repr(one) and "/x" not in repr(one)
    assert fingerprint(one) == fingerprint(target(text)) != fingerprint(target("https://example.org/other"))


@pytest.mark.parametrize(
    "text",
    [
        *("", "hello", "ftp://example.org/x", "https://", "https://user:hunter2@example.org/", "http://[::1"),
        *("command:", "command:'", "smtp://host/", "smtp://host/nobody", "smtp:///a@b", "mailto:a@b.org"),
        *("env:ROLLSCOPE_NOT_SET", "https://example.org:port/", "smtp://host/a@b\nBcc:x@y", "file:///etc/passwd"),
    ],
)
def test_a_target_that_cannot_be_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(BadInput) as error:
        target(text)
    assert "hunter2" not in str(error.value) and len(str(error.value)) > 30


def test_a_target_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "https://hooks.slack.com/services/x")
    monkeypatch.setenv("ROLLSCOPE_SMTP", "smtps://mail.example.org")
    assert target("env:PAGER").shown == "the Slack webhook at hooks.slack.com"
    assert target("mailto:me@example.org").shown == "mail by mail.example.org to 1"


def test_slack_and_discord_get_their_shapes_and_no_text_mentions_anyone(hook: Hook) -> None:
    target(f"slack+{hook.url}").send(NOTICE)
    target(f"discord+{hook.url}").send(NOTICE)
    target(hook.url).send(NOTICE)
    slack, discord, plain = hook.taken
    assert "<!channel>" not in slack["text"] and "&lt;!channel&gt;" in slack["text"]
    assert discord["allowed_mentions"] == {"parse": []} and r"\*took\*" in discord["content"]
    assert plain["event"] == "opened" and plain["rule"] == "kl-takeoff" and plain["run"] == "run-1"


def test_a_long_text_still_fits_discord(hook: Hook) -> None:
    long = Notice.of(found(evidence="*" * 5000, claim="_" * 5000), "opened", "run-1", "r" * 3000)
    target(f"discord+{hook.url}").send(long)
    assert len(hook.taken[0]["content"]) <= 2000


class Mailbox:
    def __init__(self) -> None:
        self.mails: list[Any] = []
        self.answer = "250 taken"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.mails.append(envelope)
        return self.answer


def _authenticate(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
    return AuthResult(success=data.password == b"hunter2", handled=False)


@pytest.fixture
def mail() -> Iterator[Controller]:
    port = free_port()
    options = {"authenticator": _authenticate, "auth_require_tls": False}
    controller = Controller(Mailbox(), hostname="127.0.0.1", port=port, **options)
    controller.start()
    yield controller
    controller.stop()


def test_a_mail_has_the_words_and_the_same_id_each_time(mail: Controller) -> None:
    one = target(f"smtp://me%40example.org:hunter2@127.0.0.1:{mail.port}/you@example.org,us@example.org")
    one.send(NOTICE)
    one.send(NOTICE)
    first, second = mail.handler.mails
    text = first.content.decode()
    assert first.rcpt_tos == ["you@example.org", "us@example.org"] and first.mail_from == "me@example.org"
    ids = [next(l for l in m.content.decode().splitlines() if l.startswith("Message-ID")) for m in (first, second)]
    assert ids[0] == ids[1] and "hunter2" not in text and "rollscope doctor run-1" in text


def test_a_wrong_password_is_refused_and_a_full_mailbox_is_tried_again(mail: Controller) -> None:
    with pytest.raises(Refused, match="user and the password"):
        target(f"smtp://me:wrong@127.0.0.1:{mail.port}/you@example.org").send(NOTICE)
    mail.handler.answer = "452 mailbox full"
    with pytest.raises(NotSent, match="452"):
        target(f"smtp://127.0.0.1:{mail.port}/you@example.org").send(NOTICE)
    mail.handler.answer = "554 not wanted"
    with pytest.raises(Refused, match="554"):
        target(f"smtp://127.0.0.1:{mail.port}/you@example.org").send(NOTICE)


def test_a_mail_server_that_is_down_or_is_none_is_tried_again(hook: Hook) -> None:
    port = free_port()
    with pytest.raises(NotSent, match="cannot be used"):
        target(f"smtp://127.0.0.1:{port}/you@example.org").send(NOTICE)
    with pytest.raises(NotSent, match="cannot be used"):
        target(f"smtps://127.0.0.1:{hook.server.server_port}/you@example.org").send(NOTICE)


def test_a_command_reads_json_and_needs_no_shell(tmp_path: Path) -> None:
    out = tmp_path / "a b; touch x"
    script = f"import sys; open({str(out)!r}, 'w').write(sys.stdin.read())"
    target(f"command:{sys.executable} -c {json.dumps(script)}").send(NOTICE)
    assert json.loads(out.read_text())["rule"] == "kl-takeoff"


def test_a_command_that_fails_is_refused_and_one_that_asks_is_tried_again() -> None:
    with pytest.raises(Refused, match="cannot be started"):
        target("command:/nowhere/at/all").send(NOTICE)
    with pytest.raises(Refused, match="code 3"):
        target(f"command:{sys.executable} -c 'raise SystemExit(3)'").send(NOTICE)
    with pytest.raises(NotSent, match="code 75"):
        target(f"command:{sys.executable} -c 'raise SystemExit(75)'").send(NOTICE)
