"""The program that runs the rules of one file over one run, and writes a line of JSON for each.

Its memory is limited by the system. What a rule prints is thrown away: it must not break a line.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
from typing import IO, Any

from rollscope.diagnose import Case, Rule, all_rules
from rollscope.diagnose.engine import examine
from rollscope.diagnose.rule import RULES
from rollscope.strict_json import dumps
from rollscope.views.run import open as open_runs

MEMORY = 2 << 30  # bytes that rules may take, beyond what the libraries take


def main(run: str, file: str, *passed_over: str) -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    os.dup2(2, 1)
    case = Case.of(open_runs(run).run())
    _limit()
    try:
        rules = own_rules(file)
    except BaseException as error:  # the file is somebody's program: it may even exit
        _say(out, {"failed": f"{type(error).__name__}: {error}"[:1000]})
        return
    examine(case, {})  # what every rule reads first: its time is not the first rule's
    for name, rule in rules.items():
        if name not in passed_over:
            _say(out, {"began": name})
            _say(out, _looked(case, name, rule))
    _say(out, {"done": list(rules)})


def own_rules(file: str) -> dict[str, Rule]:
    """The rules that a file defines. They cannot take the place of ours."""
    ours = dict(all_rules())
    spec = importlib.util.spec_from_file_location("rules.of.a_person", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is not a Python file")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    taken = [name for name, rule in RULES.items() if name in ours and rule is not ours[name]]
    if taken:
        raise ValueError(f"the name {taken[0]!r} is that of a rule of ours; choose another")
    return {name: rule for name, rule in RULES.items() if name not in ours}


def _looked(case: Case, name: str, rule: Rule) -> dict[str, Any]:
    try:
        told = examine(case, {name: rule})
    except MemoryError:
        return {"rule": name, "failed": f"it needs more than {MEMORY >> 30} GB of memory"}
    skipped = told.skipped[0].needs if told.skipped else None
    return {"rule": name, "findings": [finding.json() for finding in told.findings], "skipped": skipped}


def _say(out: IO[str], row: dict[str, Any]) -> None:
    out.write(json.dumps(json.loads(dumps(row))) + "\n")
    out.flush()


def _limit() -> None:
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        with open("/proc/self/status") as lines:
            held = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY, held + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # a thread that a rule left behind must not keep the process
