"""Ship runs to a lake. What the lake has already is not shipped again.

rollscope push grpo-1 --to ./lake
rollscope push /scratch/runs --to ./lake
rollscope push 'sweep-*' --to ./lake --json
rollscope push grpo-1 --to ./lake --follow
rollscope push grpo-1 --to https://runs.example.org

A server over the lake takes runs from machines without keys of the lake, with the token of
ROLLSCOPE_TOKEN, which may `record` the run's project.

A push that was stopped half-way is finished by the next one, and nothing is added twice.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import rollscope
from rollscope.errors import BadInput, RollscopeError
from rollscope.lake import place
from rollscope.lake.shipping.requests import is_server

from ._chosen import chosen
from ._terminal import in_line, print_json, say

if TYPE_CHECKING:
    from rollscope.lake.shipping.follow import Ships
    from rollscope.lake.shipping.push import Pushed

Where = place.Place | str  # a lake, or the address of a server


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "targets", nargs="+", metavar="RUN", help="ids, names or patterns of runs in --dir, or paths of runs or folders"
    )
    parser.add_argument(
        "--to",
        default=os.environ.get("ROLLSCOPE_LAKE", ""),
        metavar="LAKE",
        help="the lake, or a server over it (default: $ROLLSCOPE_LAKE)",
    )
    parser.add_argument("--follow", action="store_true", help="go on until the run is over and the lake has everything")


def run(args: argparse.Namespace) -> int:
    if not args.to:
        raise BadInput("say which lake: --to LAKE, or set ROLLSCOPE_LAKE. Make one with: rollscope lake init ./lake")
    where = args.to if is_server(args.to) else place.read(args.to)
    if args.follow:
        whole = [word for word in args.targets if os.sep in word]  # a run that may not have begun yet
        return _follow(where, whole if len(args.targets) == 1 and whole else _paths(args), args.json)
    reports = [_pushed(where, path) for path in _paths(args)]
    if args.json:
        print_json(reports)
    else:
        print("\n".join(map(_line, reports)))
    return 1 if any("problem" in report for report in reports) else 0


def _paths(args: argparse.Namespace) -> list[str]:
    """The folders of the runs, each once, in the order of the words."""
    paths: dict[str, None] = {}
    for word in args.targets:
        if os.path.isdir(word) and (os.sep in word or not os.path.isdir(os.path.join(args.dir, word))):
            paths.update(dict.fromkeys(entry.path for entry in rollscope.open(word).entries()))
        else:
            store = rollscope.open(args.dir)
            paths.update(dict.fromkeys(store.run(id).path for id in chosen(store, [word])))
    return list(paths)


def _pushed(where: Where, path: str) -> dict[str, Any]:
    """What was shipped, or why it could not be. One bad run does not stop the others."""
    try:
        return asdict(_ships(where, path).push())
    except (OSError, RollscopeError) as error:
        return {"run": os.path.basename(os.path.abspath(path)), "problem": str(error)}


def _ships(where: Where, path: str) -> Ships:
    """What ships a run: to a lake, or through a server."""
    if isinstance(where, str):
        from rollscope.lake.shipping.through_server import ThroughServer

        return ThroughServer(where, path)
    from rollscope.lake.shipping.push import Pusher

    return Pusher(where, path)


def _follow(where: Where, paths: list[str], as_json: bool) -> int:
    """Ship one run while it is recorded."""
    from rollscope.lake.shipping.follow import follow

    if len(paths) != 1:
        raise BadInput(f"--follow ships one run, and these are {len(paths)}: start a process for each")
    try:
        begin = partial(_ships, where)
        follow(begin, paths[0], lambda text: say(text, sys.stderr), lambda pushed: _report(pushed, as_json))
    except KeyboardInterrupt:
        return 130
    return 0


def _report(pushed: Pushed, as_json: bool) -> None:
    if as_json:
        print_json(asdict(pushed), indent=None)
    elif pushed.ships:
        print(_line(asdict(pushed)), flush=True)


def _line(report: dict[str, Any]) -> str:
    if "problem" in report:
        return in_line(f"{report['run']}: {report['problem']}")
    if not report["ships"]:
        return in_line(f"{report['run']}: the lake has everything")
    return in_line(
        f"{report['run']}: {report['objects']:,} objects, {report['bytes'] / 1e6:,.1f} MB, {report['rows']:,} rows"
    )
