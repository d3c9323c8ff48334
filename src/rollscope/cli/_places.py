"""Where a command computes over samples: in processes here, or on Ray."""

from __future__ import annotations

import argparse
import os

from rollscope.errors import BadInput
from rollscope.scan.work import Places


def place_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workers", metavar="N", type=int, default=0, help="processes at a time (default: half of the cores)"
    )
    parser.add_argument("--ray", metavar="ADDRESS", default="", help="run on Ray at this address; 'here' starts one")


def places_of(args: argparse.Namespace) -> Places:
    if args.workers < 0:
        raise BadInput(f"--workers must be 1 or more, not {args.workers}")
    return Places(args.workers or max(1, (os.cpu_count() or 2) // 2), args.ray)
