"""Make a lake for the runs of a team, and look after it.

rollscope lake init ./lake
rollscope lake init ./lake --catalog postgres://lake@db.internal/lake --data s3://team/rollscope
rollscope lake check ./lake
rollscope lake tidy ./lake
rollscope lake tidy ./lake --retain --dry-run
rollscope lake delete ./lake grpo-1

Keys come from PG* and AWS_* variables or from ~/.pgpass; `lake.toml` never holds one.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from rollscope.errors import BadInput
from rollscope.lake import place

from ._terminal import in_line, print_json, say

ACTIONS = {
    "init": "make a lake",
    "check": "compare every object with its checksum",
    "tidy": "merge small files and remove what no run needs",
    "delete": "delete runs for good",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=ACTIONS, help="; ".join(f"{name}: {says}" for name, says in ACTIONS.items()))
    parser.add_argument("lake", metavar="LAKE", help="folder of the lake, with its lake.toml")
    parser.add_argument("runs", nargs="*", default=[], metavar="RUN", help="ids of the runs to delete")
    parser.add_argument("--catalog", default="", metavar="URL", help="postgres://USER@HOST/DATABASE (default: a file)")
    parser.add_argument(
        "--retain", action="store_true", help="tidy: let go of text and tokens by the rules under [retain] of lake.toml"
    )
    parser.add_argument("--dry-run", action="store_true", help="with --retain: say what would be let go, and stop")
    parser.add_argument("--data", default="", metavar="PLACE", help="s3://BUCKET/PREFIX, or a folder (default: data)")


def run(args: argparse.Namespace) -> int:
    if args.action != "init" and (args.catalog or args.data):
        raise BadInput(f"--catalog and --data belong to `rollscope lake init`; {args.action} reads them from lake.toml")
    if (args.retain and args.action != "tidy") or (args.dry_run and not args.retain):
        raise BadInput("--retain belongs to `rollscope lake tidy`, and --dry-run to --retain")
    if (args.action == "delete") != bool(args.runs):
        raise BadInput("`rollscope lake delete LAKE RUN` names runs, and no other action does")
    return {"init": _init, "check": _check, "tidy": _tidy, "delete": _delete}[args.action](args)


def _init(args: argparse.Namespace) -> int:
    from rollscope.lake import making

    made = making.init(args.lake, args.catalog, args.data)
    if args.json:
        print_json({"lake": made.folder, "catalog": made.catalog, "data": made.data})
    else:
        say(f"Made the lake {made.folder}. Ship runs with: rollscope push RUN --to {made.folder}")
    return 0


def _check(args: argparse.Namespace) -> int:
    from rollscope.lake import check

    found = check.check(place.read(args.lake))
    if args.json:
        print_json(asdict(found))
        return bool(found.problems)
    for problem in found.problems:
        print(in_line(f"{problem.run}: {problem.says}"))
    size = f"{found.objects:,} objects of {found.runs:,} runs, {found.bytes / 1e6:,.1f} MB"
    say(
        f"{size}: {len(found.problems)} missing or altered." if found.problems else f"{size}: all as they were shipped."
    )
    return bool(found.problems)


def _retain(args: argparse.Namespace) -> None:
    """Let go of what is due, or say what would be."""
    from rollscope.lake import retention

    where = place.read(args.lake)
    found = retention.due(where)
    if args.dry_run and args.json:
        print_json([asdict(one) for one in found])
    for one in found:
        what = " and ".join(one.what)
        if args.dry_run and not args.json:
            say(f"{in_line(one.run)}: would let go of its {what}.")
        elif not args.dry_run:
            removed = retention.retain(where, one)
            say(f"{in_line(one.run)}: let go of its {what}, {removed / 1e6:,.1f} MB of objects.", sys.stderr)
    if not found and not args.json:
        rules = retention.rules(where).days
        say("No run is old enough to let go of anything." if rules else "lake.toml has no rule under [retain].")


def _tidy(args: argparse.Namespace) -> int:
    from rollscope.lake import tidy

    if args.retain:
        _retain(args)
    if args.dry_run:
        return 0
    done = tidy.tidy(place.read(args.lake))
    if args.json:
        print_json(asdict(done))
    else:
        removed = f"{done.objects_removed:,} objects removed, {done.bytes_removed / 1e6:,.1f} MB"
        say(f"Tables: {done.files_before:,} files became {done.files_after:,}. {removed}.")
    return 0


def _delete(args: argparse.Namespace) -> int:
    from rollscope.lake import deletion

    where = place.read(args.lake)
    removed = {run: deletion.delete(where, run) for run in args.runs}
    if args.json:
        print_json({"deleted": removed})
    else:
        for run, count in removed.items():
            say(f"Deleted the run {run!r} for good: its rows and {count:,} objects.")
    return 0
