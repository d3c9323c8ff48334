"""The verdict and the vital signs as `show` and `watch` print them: what the Overview says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rollscope.diagnose import Diagnosis, Finding, diagnosis
from rollscope.diagnose.hidden import hidden, open_findings
from rollscope.diagnose.story import told as in_order
from rollscope.views.health.report import Health, health

from ._styles import STATUS_MARK, STATUS_STYLE
from ._terminal import in_line, styled

if TYPE_CHECKING:
    from rollscope.store.run import Run


def health_of(reader: Run, told: Diagnosis | None = None) -> Health[Finding]:
    """Judge a run by its diagnosis; `told` is one that was made before."""
    told = told or diagnosis(reader)
    shown = open_findings(told.findings, hidden(reader))
    return health(reader, in_order(shown), len(told.findings) - len(shown), told.looked)


def health_json(judged: Health[Finding]) -> dict[str, Any]:
    """Verdict, context and status, and each vital sign with its reference."""
    keys = ("title", "metrics", "status", "reading", "reference", "value", "step", "unit")
    return {
        "verdict": judged.verdict["title"],
        "context": judged.verdict["context"],
        "status": judged.verdict["status"],
        "vitals": [{key: sign[key] for key in keys} for sign, _ in judged.signs],  # type: ignore[literal-required]
    }


def verdict_lines(judged: dict[str, Any]) -> list[Any]:
    """The verdict with its mark, and its context below."""
    mark = STATUS_MARK[judged["status"]]
    first = styled(f"{mark} ", STATUS_STYLE[judged["status"]]).append(in_line(judged["verdict"]), "bold")
    return [first, *([styled(in_line(judged["context"]), "dim")] if judged["context"] else [])]


def sign_lines(judged: dict[str, Any]) -> list[Any]:
    """One line for each vital sign: its mark, its reading and what it was held against."""
    return [_sign(sign) for sign in judged["vitals"]]


def _sign(sign: dict[str, Any]) -> Any:
    line = styled(f"{STATUS_MARK[sign['status']]} ", STATUS_STYLE[sign["status"]])
    line.append(in_line(f"{sign['title']}: {sign['reading']}"))
    return line.append(in_line(f" ({sign['reference']['text']})"), "dim")
