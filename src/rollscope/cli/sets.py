"""List the sets of samples that people collected, or export one.

The formats are jsonl, csv, parquet, inspect (a log for `inspect view`) and hf (a folder for
`datasets.load_dataset`).

rollscope sets
rollscope sets hacks --format jsonl --out hacks.jsonl
rollscope sets hacks --format hf --out hacks
"""

from __future__ import annotations

import argparse
import os

import rollscope
from rollscope import whole_file
from rollscope.errors import BadInput
from rollscope.store.store import Store

from ._terminal import in_line, print_json, say

FORMATS = ("jsonl", "csv", "parquet", "inspect", "hf")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a set to export; without it: list the sets")
    parser.add_argument("--format", default="jsonl", choices=FORMATS, help="default: jsonl")
    parser.add_argument("--out", metavar="PATH", help="file to write, or folder for hf (default: NAME and an ending)")


def run(args: argparse.Namespace) -> int:
    store = rollscope.open(args.dir)
    return _list(store, args.json) if args.name is None else _export(store, args)


def _list(store: Store, as_json: bool) -> int:
    sets = store.sets()
    if as_json:
        print_json(sets)
        return 0
    for name, members in sets.items():
        runs = len({member["run"] for member in members})
        say(f"{in_line(name)}  {_count(len(members), 'sample')} of {_count(runs, 'run')}")
    if not sets:
        say("There is no set yet. To begin one: rollscope mark RUN SAMPLE --set NAME")
    return 0


def _export(store: Store, args: argparse.Namespace) -> int:
    from rollscope.views.sets.collected import collected
    from rollscope.views.sets.formats import ENDINGS, exported, folder

    found = collected(store, args.name)
    out = args.out or args.name.replace(os.sep, "-") + ("" if args.format == "hf" else ENDINGS[args.format])
    if args.format == "hf":
        files = {os.path.join(out, name): data for name, data in folder(found).items()}
    else:
        files = {out: exported(found, args.format)}
    for path, data in files.items():
        _write(path, data)
    if args.json:
        print_json({"set": args.name, "samples": len(found.rows), "missing": found.missing, "files": list(files)})
    else:
        gone = f"; {_count(found.missing, 'sample')} more can no longer be read" if found.missing else ""
        say(f"Wrote {_count(len(found.rows), 'sample')} to {out}{gone}.")
    return 0


def _write(path: str, data: bytes) -> None:
    if os.path.isdir(path):
        raise BadInput(f"{path!r} is a folder; name a file with --out")
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with whole_file.written(path) as aside, open(aside, "wb") as file:
        file.write(data)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what if number == 1 else what + 's'}"
