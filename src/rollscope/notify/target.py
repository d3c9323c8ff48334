"""Targets as a person writes them: one text each.

https://example.org/hook            a webhook that takes JSON; Slack's and Discord's are known
slack+https://chat.example.org/x    a webhook that speaks as Slack's does; also discord+, json+
smtp://user:password@host:587/me@example.org,you@example.org
mailto:me@example.org               over the server in ROLLSCOPE_SMTP, written as above
command:notify-send Rollscope       a command; it reads JSON
env:SLACK_WEBHOOK                   whatever stands in this environment variable
"""

from __future__ import annotations

import hashlib
import os
import shlex
import socket
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from rollscope.errors import BadInput

from .command import Command
from .mail import Mail
from .notice import Notice
from .webhook import Webhook

KINDS = "https://…, slack+https://…, discord+https://…, smtp://host/me@example.org, mailto:…, command:… or env:NAME"
KNOWN_HOSTS = {"hooks.slack.com": "slack", "discord.com": "discord", "discordapp.com": "discord"}
SMTP = "ROLLSCOPE_SMTP"


class Target(Protocol):
    """Where a notice goes. `send` raises what `delivery` has, and nothing else."""

    @property
    def shown(self) -> str: ...

    def send(self, notice: Notice) -> None: ...


def target(text: str) -> Target:
    """The target that a text names. Raises BadInput, without the text: it may hold a secret."""
    if text.startswith("env:"):
        text = _variable(text.removeprefix("env:"))
    kind, _, rest = text.partition(":")
    if kind == "command":
        return _command(rest)
    if kind == "mailto":
        return _mail(_variable(SMTP).rstrip("/") + "/" + rest)
    if kind in ("smtp", "smtps"):
        return _mail(text)
    return _webhook(text)


def fingerprint(target: Target) -> str:
    """A name for a target that tells nothing about it."""
    fields = [repr(getattr(target, name)) for name in target.__slots__]  # type: ignore[attr-defined]
    return hashlib.sha256("\n".join(fields).encode()).hexdigest()[:16]


def _variable(name: str) -> str:
    text = os.environ.get(name, "").strip()
    if not text:
        raise BadInput(f"the environment variable {name!r} is not set, and a target of notices should stand in it")
    return text


def _webhook(text: str) -> Webhook:
    shape, plus, url = text.partition("+")
    if not plus or shape not in ("slack", "discord", "json"):
        shape, url = "", text
    parts = _split(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
        raise BadInput(f"a target of notices begins with {parts.scheme[:20]!r}; write {KINDS}")
    shape = shape or KNOWN_HOSTS.get(parts.hostname, "json")
    name = {"json": "the webhook"}.get(shape, f"the {shape.capitalize()} webhook")
    return Webhook(shape, f"{name} at {parts.hostname}", url)


def _command(rest: str) -> Command:
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise BadInput(f"the command of a notice cannot be read: {error}") from None
    if not words:
        raise BadInput("a target of notices is `command:` without a command; write, say, command:notify-send Rollscope")
    return Command(f"the command {os.path.basename(words[0])}", tuple(words))


def _mail(text: str) -> Mail:
    parts = _split(text)
    to = tuple(unquote(address).strip() for address in parts.path.strip("/").split(",") if address.strip())
    host = parts.hostname or ""
    if parts.scheme not in ("smtp", "smtps") or not host or not to or not all(map(_is_address, to)):
        raise BadInput(
            "a target by e-mail names a server and who gets the mail: smtp://host:587/me@example.org,"
            f" or mailto:me@example.org with the server in {SMTP}"
        )
    secure = parts.scheme == "smtps"
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    sender = user if _is_address(user) else f"rollscope@{socket.gethostname()}"
    port = parts.port or (465 if secure else 587)
    return Mail(f"mail by {host} to {len(to)}", host, port, secure, sender, to, user, password)


def _is_address(text: str) -> bool:
    name, at, host = text.partition("@")
    return bool(name and at and host) and not any(c.isspace() or c in "<>,;:@" for c in name + host)


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises on a port that is no number
    except ValueError:
        raise BadInput(f"the address of a target of notices cannot be read; write {KINDS}") from None
    return parts
