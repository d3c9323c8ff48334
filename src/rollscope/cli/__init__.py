"""The command line: one command per file of this folder.

A command's module docstring is its help (first line) and its example; `arguments(parser)` adds what it takes beside `--dir` and
`--json`; `run(args)` does it and returns the exit code. A file added here is a command; nothing else is to be touched.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType

from rollscope import __version__
from rollscope.errors import RollscopeError


def commands() -> dict[str, str]:
    """Command name -> module. A module called `import_` is the command `import`; one that starts with `_` is not a command."""
    return {
        m.name.rstrip("_"): f"{__name__}.{m.name}" for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")
    }


def default_dir() -> str:
    return os.environ.get("ROLLSCOPE_DIR") or "runs"


def _add(parsers: argparse._SubParsersAction[argparse.ArgumentParser], name: str, module: ModuleType) -> None:
    text = module.__doc__ or ""
    parser = parsers.add_parser(
        name, help=text.split("\n")[0], description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", default=default_dir(), help="folder of runs (default: $ROLLSCOPE_DIR, else ./runs)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    module.arguments(parser)
    parser.set_defaults(run=module.run)


def build(only: str | None = None) -> argparse.ArgumentParser:
    """The parser; with `only`, just that command's module is imported, so that `rollscope explain` starts fast."""
    parser = argparse.ArgumentParser(
        prog="rollscope", description="The flight recorder and the cockpit of RL post-training."
    )
    parser.add_argument("--version", action="version", version=f"rollscope {__version__}")
    parsers = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    known = commands()
    for name in [only] if only in known else known:
        _add(parsers, name, importlib.import_module(known[name]))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    if hasattr(
        sys.stdout, "reconfigure"
    ):  # a file's name may be no text, and a terminal may know no bars: neither is a reason to say nothing
        sys.stdout.reconfigure(errors="backslashreplace")
    only = next((word for word in argv if not word.startswith("-")), None)
    parser = build(only)
    if not argv:
        parser.print_help()
        return 2
    args = parser.parse_args(argv)
    try:
        return int(args.run(args))
    except RollscopeError as error:
        print(f"rollscope {args.verb}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `rollscope ... | head` is not an error
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 0
    except OSError as error:  # a folder that may not be written to, a disk that is full
        print(
            f"rollscope {args.verb}: {error.strerror or error}{'' if error.filename is None else f': {error.filename}'}",
            file=sys.stderr,
        )
        return 2
