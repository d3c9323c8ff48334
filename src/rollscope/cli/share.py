"""Make a link with which anyone can look at one run, and nothing else, until it ends.

With `--board` the link opens a board of the run's metrics, and shows it, too.

The link is for a server with sign-in. What opens it stands behind the `#` of the address, which
browsers do not send and servers do not log. `rollscope token revoke` ends it early.

rollscope share grpo-1 --days 7
rollscope share grpo-1 --board 'Paper, figure 2'
rollscope share grpo-1 --url https://runs.example.org/
"""

from __future__ import annotations

import argparse
from urllib.parse import quote

import rollscope
from rollscope.access import tokens
from rollscope.errors import NotFound, nearest
from rollscope.store.notes import author
from rollscope.store.store import Store

from ._arguments import count
from ._book import book
from ._terminal import print_json, say

DAYS = 7
URL = "http://127.0.0.1:7700/"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name")
    parser.add_argument("--days", type=count, default=DAYS, metavar="N", help=f"days until it ends (default {DAYS})")
    parser.add_argument("--board", metavar="NAME", help="a board to show with the run")
    parser.add_argument("--url", default=URL, help=f"address of the server (default {URL})")


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    id, boards = store.run(args.target).id, _boards(store, args.board)
    name = f"link to {id}"[: tokens.LONGEST_NAME]
    token, text = tokens.make(book(args.dir), name, (), "read", args.days, (id,), boards, author())
    page = f"r/{quote(id, safe='')}"
    page += f"/metrics?board={quote(args.board, safe='')}" if boards else ""
    link = f"{args.url.rstrip('/')}/sign-in#to={quote(page, safe='')}&token={text}"
    if args.json:
        print_json({"id": token.id, "run": id, "boards": boards, "ends_ns": token.ends_ns, "link": link})
        return 0
    say(f"Whoever has this link can look at {tokens.covers(token)} until {tokens.day(token.ends_ns)}:")
    say(link)
    say(f"To end it before: rollscope token revoke {token.id}")
    return 0


def _boards(store: Store, name: str | None) -> list[str]:
    """The board to show, which must exist."""
    known = store.project.current("board")
    if name is not None and name not in known:
        raise NotFound(f"no board {name[:80]!r} in the project log.{nearest(name, known)}")
    return [] if name is None else [name]
