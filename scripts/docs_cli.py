"""Write docs/cli.md: the help of every command, taken from the commands."""

from __future__ import annotations

import argparse
import importlib
import os

from rollscope.cli import build, commands


def page() -> str:
    os.environ["COLUMNS"] = "100"
    os.environ.pop("ROLLSCOPE_DIR", None)
    out = [
        "# The command line",
        "",
        "Generated from the commands by `make docs`. Every command takes `--dir` (the folder of runs) and `--json`.",
        "",
    ]
    for name, module in sorted(commands().items()):
        summary = (importlib.import_module(module).__doc__ or "").split("\n")[0]
        out += [f"## rollscope {name}", "", summary, "", "```text", _help(name), "```", ""]
    return "\n".join(out)


def _help(name: str) -> str:
    parser = build(name)
    actions = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return str(actions[0].choices[name].format_help()).rstrip()
