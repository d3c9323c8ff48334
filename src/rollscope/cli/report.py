"""Write a run as one file to hand on: HTML that needs nothing else, or Markdown.

It tells the story, what it cost and where to resume, draws the vital signs, and shows samples and
the configuration. The HTML has no script and prints well.

rollscope report grpo-1 -o report.html
rollscope report grpo-1 --md
"""

from __future__ import annotations

import argparse
import os

from rollscope import whole_file
from rollscope.errors import BadInput

from ._terminal import print_json, say


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="RUN", help="run id or name")
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write (default: standard output)")
    parser.add_argument("--md", action="store_true", help="write Markdown")
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")


def run(args: argparse.Namespace) -> int:
    import rollscope
    from rollscope.report.content import gather
    from rollscope.report.markdown import markdown
    from rollscope.report.page import page

    reader = rollscope.open(args.dir).run(args.target)
    report = gather(reader)
    words = markdown(report) if args.md or str(args.output or "").endswith(".md") else page(report)
    if args.output is None:
        print(words, end="")
        return 0
    _write(args.output, words, args.force)
    size = len(words.encode())
    if args.json:
        print_json({"run": reader.id, "file": os.path.abspath(args.output), "bytes": size})
    else:
        say(f"{args.output}: {reader.id}, {size / 1000:,.0f} kB")
    return 0


def _write(path: str, words: str, force: bool) -> None:
    if os.path.isfile(path) and not force:
        raise BadInput(f"{path} exists. Add --force to replace it, or give another name.")
    with whole_file.written(path) as aside, open(aside, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(words)
