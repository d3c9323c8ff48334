"""The table in docs/sources.md: what is recorded of each framework, from what the tests hold."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.recorded import KINDS, ROWS  # noqa: E402

BEGIN, END = "<!-- recorded: written by make docs -->\n", "<!-- end -->\n"
SPELLED = {
    "agentlightning": "Agent-Lightning",
    "areal": "AReaL",
    "art": "ART",
    "miles": "miles",
    "nemo_rl": "NeMo-RL",
    "openrlhf": "OpenRLHF",
    "prime_rl": "prime-rl, verifiers",
    "rlinf": "RLinf",
    "rllm": "rLLM",
    "roll": "ROLL",
    "skyrl": "SkyRL",
    "slime": "slime",
    "swift": "ms-swift",
    "telescope": "Telescope",
    "tinker": "tinker-cookbook",
    "trinity": "Trinity-RFT",
    "trl": "TRL",
    "verl": "veRL",
}


def page() -> str:
    """docs/sources.md with its table written again."""
    text = (ROOT / "docs" / "sources.md").read_text()
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


def table() -> str:
    head = f"| framework | how | {' | '.join(KINDS)} | tested |\n|---|---|{':-:|' * len(KINDS)}---|\n"
    rows = sorted(ROWS, key=lambda row: (SPELLED[row.framework].lower(), "numbers" not in row.holds, row.way != "live"))
    return head + "".join(
        f"| {SPELLED[row.framework]} | {row.way} | "
        f"{' | '.join('x' if kind in row.holds else '' for kind in KINDS)} | {row.tested} |\n"
        for row in rows
    )
