"""Train a small policy from a TOML configuration, and record the run.

rollscope train examples/grpo.toml
rollscope train examples/grpo.toml --set rollout.workers=2 --set run.seed=1
rollscope train examples/grpo.toml --resume grpo-countdown-0-1115-0304-9msy
"""

from __future__ import annotations

import argparse
import sys

from ._terminal import print_json, say
from ._training import train


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", help="TOML file; examples/ has one for each algorithm")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change one key, such as rollout.repeats=4"
    )
    parser.add_argument("--resume", metavar="RUN", help="continue from the checkpoint of this run")


def run(args: argparse.Namespace) -> int:
    from rollscope.trainer import config

    settings = config.read(args.config, args.set)
    try:
        id = train(settings, args.dir, args.resume, quiet=args.json)
    except KeyboardInterrupt:
        print(
            "stopped; the run can be read up to here, and --resume RUN continues from its last checkpoint",
            file=sys.stderr,
        )
        return 130
    if args.json:
        print_json({"run": id, "dir": str(args.dir)}, indent=None)
    else:
        say(f"run {id} in {args.dir}. Look at it with: rollscope show {id}")
    return 0
