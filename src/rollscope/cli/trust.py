"""Trust a project's own viewers and rules (`.rollscope/` of its folder), as they are now.

They are code, so they are not run unasked. A file that changes later is asked about again.

rollscope trust .
rollscope trust
rollscope trust . --remove
"""

from __future__ import annotations

import argparse

from rollscope.trust import folders, trusted

from ._terminal import print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="a folder with a `.rollscope`; without it: list")
    parser.add_argument("--remove", action="store_true", help="trust the folder no more")


def run(args: argparse.Namespace) -> int:
    if args.folder is None:
        return _list(args.json)
    if args.remove:
        return _remove(args.folder, args.json)
    path, found = folders.named(args.folder), trusted.trust(args.folder)
    if args.json:
        print_json({"folder": path, "files": [piece._asdict() for piece in found]})
        return 0
    for piece in found:
        say(f"{_WAS[piece.state]:9} {piece.path}  sha256 {piece.digest[:12]}")
    say(f"Trusted {path}: {len(found)} {'file' if len(found) == 1 else 'files'}, as they are now.")
    return 0


_WAS = {"trusted": "as before", "changed": "changed", "new": "new"}


def _remove(folder: str, json: bool) -> int:
    removed = trusted.distrust(folder)
    if json:
        print_json({"folder": folder, "removed": removed})
    else:
        say(f"{folder} is trusted no more." if removed else f"{folder} was not trusted.")
    return 0


def _list(json: bool) -> int:
    kept = trusted.everything()
    if json:
        print_json(kept)
    for folder in [] if json else kept:
        say(f"{folder}  {len(kept[folder])} {'file' if len(kept[folder]) == 1 else 'files'}")
    if not kept and not json:
        say("No folder is trusted. To trust one: rollscope trust FOLDER")
    return 0
