"""The command line: each file of this folder is one command, and adding a file adds a command.

The module docstring is the command's help: its first line, then examples. `arguments(parser)` adds
the arguments beside `--dir` and `--json`. `run(args)` runs the command and returns the exit code.
A module whose name starts with `_` holds what several commands share.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from rollscope import __version__
from rollscope.errors import RollscopeError, nearest
from rollscope.visible import visible

NO_THREADS = (
    "the system lets this process start no more threads. Raise its limit (`ulimit -u`, or the limit "
    "of the container), or end other processes of this user, and try again"
)


def commands() -> dict[str, str]:
    """Command name -> module. The module `import_` is the command `import`."""
    modules = [m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")]
    return {name.rstrip("_"): f"{__name__}.{name}" for name in modules}


def default_dir() -> str:
    return os.environ.get("ROLLSCOPE_DIR") or "runs"


class _Parser(argparse.ArgumentParser):
    """An error repeats words of the command line, which may come from a script or from a run."""

    def error(self, message: str) -> NoReturn:
        super().error(visible(message))


def _add(parsers: argparse._SubParsersAction[_Parser], name: str, module: ModuleType) -> None:
    text = module.__doc__ or ""
    parser = parsers.add_parser(
        name, help=text.split("\n")[0], description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", default=default_dir(), help="folder of runs (default: $ROLLSCOPE_DIR, else ./runs)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    module.arguments(parser)
    parser.set_defaults(run=module.run, refuse=parser.error)


def build(only: str | None = None) -> argparse.ArgumentParser:
    """Build the parser.

    With `only`, import just that command, so that `rollscope explain` starts fast.
    """
    parser = _Parser(prog="rollscope", description="The flight recorder and the cockpit of RL post-training.")
    parser.add_argument("--version", action="version", version=f"rollscope {__version__}")
    parsers = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    known = commands()
    for name in [only] if only in known else known:
        _add(parsers, name, importlib.import_module(known[name]))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    if hasattr(sys.stdout, "reconfigure"):
        # A file name may not be valid text, and a terminal may lack bar characters: print escapes.
        sys.stdout.reconfigure(errors="backslashreplace")
    only = next((word for word in argv if not word.startswith("-")), None)
    parser = build(only)
    if not argv:
        parser.print_help()
        return 2
    if only is not None and argv[0] == only and only not in commands():
        parser.error(f"there is no command {only!r}.{nearest(only, commands())} List them all: rollscope --help")
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        args.refuse(f"it takes no {' '.join(unknown)!r}. See its arguments: rollscope {args.verb} --help")
    return _run(args)


def _run(args: argparse.Namespace) -> int:
    """Run a command; print an expected error as one sentence and return 2."""
    try:
        return int(args.run(args))
    except RollscopeError as error:
        message = str(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `rollscope ... | head` is not an error
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 0
    except OSError as error:  # a read-only folder, a full disk
        message = f"{error.strerror or error}{'' if error.filename is None else f': {error.filename}'}"
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        message = NO_THREADS
    print(visible(f"rollscope {args.verb}: {message}"), file=sys.stderr)
    return 2
