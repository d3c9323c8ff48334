"""Report what is wrong with a run, since which step, and what to check. Exits 1 on a problem.

rollscope doctor grpo-1
rollscope doctor grpo-1 --json
rollscope doctor grpo-1 --follow --notify https://hooks.slack.com/services/...
rollscope doctor grpo-1 --fail-on bad --rule-file rules.py
rollscope doctor --rules
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rollscope.diagnose import Chapter, Diagnosis, Finding, Rule, all_rules, story, whole_diagnosis
from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.diagnose.life import Lives, alive
from rollscope.diagnose.needs import SeriesOf
from rollscope.diagnose.own.ask import with_own
from rollscope.diagnose.thresholds import Threshold, thresholds
from rollscope.errors import BadInput
from rollscope.report.words import cost, life, when

from ._arguments import seconds
from ._attendant import Attendant
from ._styles import SEVERITY_MARK
from ._terminal import in_line, print_json, say

if TYPE_CHECKING:
    from rollscope.store.run import Run

ANSI = {"bad": "31", "watch": "33", "info": "34"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="RUN", help="run id or name; optional if there is only one run")
    parser.add_argument("--rules", action="store_true", help="describe the rules")
    parser.add_argument(
        "--rule-file",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file with rules of your own (@rule), run in a process that is stopped if one takes too long",
    )
    parser.add_argument("--all", action="store_true", help="include findings that were hidden in this run")
    parser.add_argument(
        "--follow",
        action="store_true",
        help="keep running and print each finding when it appears (with --json: one object per line)",
    )
    parser.add_argument(
        "--notify",
        action="append",
        default=[],
        metavar="TARGET",
        help="with --follow: tell it once when a finding begins and once when it is over: a webhook"
        " (https://..., slack+https://..., discord+https://...), smtp://host/me@example.org, mailto:..., command:...,"
        " or env:NAME for one that stands in an environment variable",
    )
    parser.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="RULE",
        help="with --follow: ask the run to stop after a checkpoint when this rule finds something",
    )
    parser.add_argument(
        "--fail-on",
        choices=("bad", "watch"),
        default="watch",
        help="exit 1 on findings that are at least this bad (default watch)",
    )
    parser.add_argument("--every", type=seconds, default=5.0, metavar="SECONDS", help="how often --follow looks")


def run(args: argparse.Namespace) -> int:
    if args.rules:
        return _list_rules(args.json, args.dir)
    import rollscope

    if (args.notify or args.stop) and not args.follow:
        raise BadInput("--notify and --stop are for --follow: add it, or leave them out")
    reader = rollscope.open(args.dir).run(args.target)
    return _follow(reader, args) if args.follow else _report(reader, args)


def _report(reader: Run, args: argparse.Namespace) -> int:
    reasons = {} if args.all else hidden(reader)
    told = _diagnosis(reader, args)
    findings = open_findings(told.findings, reasons)
    if args.json:
        print_json([f.json() for f in findings])
    else:
        parts = [part for chapter in story(findings) for part in _chapter(chapter)]
        print("\n".join(parts) if parts else f"Nothing found by {plural(told.looked, 'rule')}.")
        if told.useful is not None and told.useful.wasted:
            say(in_line(told.useful.sentence))
        for line in [
            *_hidden_lines(told.findings, reasons),
            *_recovered_lines(told),
            *_set_lines(told),
            *_skipped_lines(told),
        ]:
            say(line)
    return 1 if _fails(findings, args.fail_on) else 0


def _chapter(chapter: Chapter, depth: int = 0) -> Iterator[str]:
    """A finding, then what follows from it, further in."""
    yield textwrap.indent(_text(chapter.finding), "    " * depth)
    for follows in chapter.follows:
        yield from _chapter(follows, depth + 1)


def _hidden_lines(findings: list[Finding], reasons: Mapping[str, str]) -> Iterator[str]:
    for f in findings:
        if f.rule in reasons:
            reason = f" ({reasons[f.rule]})" if reasons[f.rule] else ""
            yield in_line(f"hidden here: {f.claim}{reason}. Show it with --all.")


def _recovered_lines(told: Diagnosis) -> Iterator[str]:
    """What was found while the run ran, and is over."""
    for f in told.recovered:
        yield in_line(f"recovered: {f.claim}, {when(f)}.")


def _set_lines(told: Diagnosis) -> Iterator[str]:
    """Thresholds of this project: calm that rests on them must show it."""
    for sentence in told.thresholds:
        yield in_line(f"set by the project: {sentence}")


def _skipped_lines(told: Diagnosis) -> Iterator[str]:
    """Which rules could not look, and what each needs."""
    if told.skipped:
        yield f"{plural(len(told.skipped), 'rule')} could not look:"
    for skipped in told.skipped:
        yield in_line(f"  {skipped.rule} needs {skipped.needs}")


def _follow(reader: Run, args: argparse.Namespace) -> int:
    """Print each finding once, until the run ends; tell targets, and stop the run if asked to."""
    attendant = Attendant(reader, args.notify, args.stop, _say_aside)
    printed: set[tuple[str, int]] = set()
    lives = Lives(reader.path) if reader.state == "running" else None
    failed = False
    while True:
        reader.refresh()
        ended, step = reader.state != "running", reader.last_step or 0
        findings = open_findings(_diagnosis(reader, args).findings, {} if args.all else hidden(reader))
        for f in findings:
            if (f.rule, f.step) not in printed:
                printed.add((f.rule, f.step))
                _print(f, args.json)
        if lives is not None:
            lives.look(reader, findings, ended)
        attendant.look(findings, step)
        failed = failed or _fails(findings, args.fail_on)
        if ended:
            attendant.close()
            return 1 if failed else 0
        time.sleep(args.every)


def _diagnosis(reader: Run, args: argparse.Namespace) -> Diagnosis:
    return alive(with_own(whole_diagnosis(reader), reader.path, args.rule_file), reader)


def plural(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _say_aside(text: str) -> None:
    """Print on stderr, which the trainer that started this process may have closed by now."""
    with contextlib.suppress(OSError):
        say(text, sys.stderr)


def _fails(findings: list[Finding], least: str) -> bool:
    return any(f.severity == "bad" or f.severity == least for f in findings)


def _print(f: Finding, as_json: bool) -> None:
    if as_json:
        print_json(f.json(), indent=None)
    else:
        print(_text(f), flush=True)


def _list_rules(as_json: bool, folder: str) -> int:
    rules = sorted(all_rules().values(), key=lambda r: r.name)
    given = thresholds(folder, all_rules())
    if as_json:
        fields = ("name", "title", "teaches", "order", "thresholds")
        print_json(
            [
                {**{field: getattr(r, field) for field in fields}, "needs": _needs(r), "set": _set_here(r, given)}
                for r in rules
            ]
        )
    else:
        for r in rules:
            lines = [r.name, _paragraph(r.title), _paragraph(r.teaches), *map(_paragraph, _set_here(r, given))]
            print("\n".join(lines) + "\n")
    return 0


def _set_here(rule: Rule, given: list[Threshold]) -> list[str]:
    """Thresholds of a rule that the project has set, as sentences."""
    return [one.sentence for one in given if one.rule == rule.name]


def _needs(rule: Rule) -> list[list[str]]:
    return [list(need) if isinstance(need, SeriesOf) else [need.says] for need in rule.needs]


def _paragraph(text: str) -> str:
    return textwrap.indent(textwrap.fill(text, 96), "  ")


def _text(f: Finding) -> str:
    mark = SEVERITY_MARK[f.severity]
    if sys.stdout.isatty():
        mark = f"\x1b[{ANSI[f.severity]}m{mark}\x1b[0m"
    lines = [f"{mark} {in_line(f.claim)} {when(f)}", f"  {in_line(f.evidence)}"]
    lines += [f"  {in_line(text)}" for text in (*f.thresholds, life(f), cost(f.cost)) if text]
    lines += [f"  first check: {in_line(f.check[0])}"] if f.check else []
    return "\n".join([*lines, ""])
