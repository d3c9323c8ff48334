"""A notice as the JSON that Slack, Discord and plain webhooks take.

Texts of a run are other people's: nothing in them may mention a channel, make a link or end a
quotation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .notice import Notice

DISCORD_LONGEST = 1900  # characters; Discord refuses more than 2,000
_MARKDOWN = re.compile(r"([\\*_~`|>#\[\]()@:<-])")


def plain(notice: Notice) -> dict[str, Any]:
    """Every field of the notice, and its words."""
    return {**notice.json(), "title": notice.title, "text": "\n".join([notice.title, *notice.lines])}


def slack(notice: Notice) -> dict[str, Any]:
    """Slack and what speaks as Slack does (Mattermost, Rocket.Chat)."""
    text = "\n".join([f"*{_slack_text(notice.title)}*", *map(_slack_text, notice.lines)])
    return {"text": text, "unfurl_links": False, "unfurl_media": False}


def discord(notice: Notice) -> dict[str, Any]:
    text = "\n".join([f"**{_discord_text(notice.title)}**", *map(_discord_text, notice.lines)])
    return {"content": text[:DISCORD_LONGEST], "allowed_mentions": {"parse": []}}


def _slack_text(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([*_~`])", "\u200b\\1", text)  # Slack has no escape for its marks


def _discord_text(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


SHAPES: dict[str, Callable[[Notice], dict[str, Any]]] = {"json": plain, "slack": slack, "discord": discord}
