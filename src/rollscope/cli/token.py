"""Make, list and revoke tokens for `rollscope serve --sign-in`.

A token is for a person or a program, for some projects, for some days. It is shown once: keep it in
a password manager, or in a file that only its program can read. `read` sees runs, `record` may also
write notes and marks, `admin` may also delete runs, tag them and change boards. `audit` lists who
did what, the newest first.

rollscope token create alice --project countdown --may record --days 90
rollscope token create ops --project '*' --may admin --days 30
rollscope token ls
rollscope token revoke alice
rollscope token audit
rollscope token create trainer --project countdown --may record --lake ./lake

With `--lake` the tokens are in the lake, and hold at every server over it.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable

from rollscope.access import tokens
from rollscope.access.book import ROLES, Event, Token
from rollscope.errors import BadInput, NotFound
from rollscope.lake import place
from rollscope.store.notes import author

from ._arguments import count
from ._book import book, exists
from ._terminal import in_line, print_json, say

DAYS = 90
MOST_EVENTS = 1000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("create", "ls", "revoke", "audit"), help="what to do")
    parser.add_argument("name", nargs="?", help="who uses the token; to revoke: a name, or an id of `ls`")
    parser.add_argument(
        "--project", action="append", default=[], metavar="P", help="a project; again for more; '*': every project"
    )
    parser.add_argument("--lake", default="", metavar="LAKE", help="the tokens of this lake, not those of --dir")
    parser.add_argument("--may", choices=ROLES, default="read", help="what the token allows (default read)")
    parser.add_argument("--days", type=count, default=DAYS, metavar="N", help=f"days until it ends (default {DAYS})")


def run(args: argparse.Namespace) -> int:
    args.dir = place.read(args.lake).folder if args.lake else args.dir
    if not os.path.isdir(args.dir):
        raise NotFound(f"no folder {args.dir!r}: tokens are kept beside the runs. Name the folder with --dir.")
    if args.action in ("create", "revoke") and not args.name:
        raise BadInput(f"rollscope token {args.action} needs a name: rollscope token {args.action} NAME")
    return {"create": _create, "ls": _list, "revoke": _revoke, "audit": _audit}[args.action](args)


def _create(args: argparse.Namespace) -> int:
    tokens.checked(args.name, args.project, args.may, args.days, ())
    token, text = tokens.make(book(args.dir), args.name, args.project, args.may, args.days, by=author())
    if args.json:
        print_json({**token.json(), "token": text})
        return 0
    say(f"{token.name} may {token.may} {tokens.covers(token)} until {tokens.day(token.ends_ns)}.")
    say("The token is shown this once:")
    say(text)
    return 0


def _list(args: argparse.Namespace) -> int:
    found = book(args.dir).tokens() if exists(args.dir) else []
    if args.json:
        print_json([token.json() for token in found])
        return 0
    if not found:
        say("There is no token yet. To make one: rollscope token create NAME --project P")
    rows = [("id", "who", "may", "of", "made", "ends", "last used"), *map(_row, found)]
    _print(rows if found else [])
    return 0


def _row(token: Token) -> tuple[str, ...]:
    state = token.state(time.time_ns())
    ends = f"revoked {tokens.day(token.revoked_ns)}" if state == "revoked" else tokens.day(token.ends_ns)
    used = tokens.day(token.used_ns) if token.used_ns else "never"
    over = " (over)" if state == "ended" else ""
    return token.id, token.name, token.may, tokens.covers(token), tokens.day(token.made_ns), ends + over, used


def _revoke(args: argparse.Namespace) -> int:
    if not exists(args.dir):
        raise NotFound("there is no token to revoke. To make one: rollscope token create NAME --project P")
    gone = tokens.revoke(book(args.dir), args.name, author())
    if args.json:
        print_json([token.json() for token in gone])
    else:
        say(f"Revoked {', '.join(f'{token.id} of {token.name}' for token in gone)}.")
    return 0


def _audit(args: argparse.Namespace) -> int:
    events = book(args.dir).events(MOST_EVENTS) if exists(args.dir) else []
    if args.json:
        print_json([{"time_ns": e.time_ns, "who": e.who, "what": e.what, "about": e.about} for e in events])
    else:
        _print(map(_told, events))
    return 0


def _told(event: Event) -> tuple[str, ...]:
    return tokens.day(event.time_ns), event.who, event.what, event.about


def _print(rows: Iterable[tuple[str, ...]]) -> None:
    """Rows in columns, each as wide as its longest cell."""
    cells = [[in_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
