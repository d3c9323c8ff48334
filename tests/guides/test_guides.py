"""Every name, formula, option and behaviour of the five published guides, one row each.

A row is what a guide says and the check that runs it. Where we differ on purpose, the check looks
for the reason on the page of docs/ that gives it.
"""

from __future__ import annotations

import pytest

from . import glossary, rlinf, telescope, trinity, trl
from .checks import Check
from .conftest import Recorded

GUIDES = {
    "Telescope": telescope.ITEMS,
    "glossary": glossary.ITEMS,
    "RLinf": rlinf.ITEMS,
    "TRL": trl.ITEMS,
    "Trinity": trinity.ITEMS,
}
ROWS = [(guide, item, check) for guide, items in GUIDES.items() for item, check in items]


@pytest.mark.parametrize(("guide", "item", "check"), ROWS, ids=[f"{guide}: {item}" for guide, item, _ in ROWS])
def test_what_a_guide_shows_holds(recorded: Recorded, guide: str, item: str, check: Check) -> None:
    check(recorded)


def test_no_row_is_there_twice() -> None:
    rows = [(guide, item) for guide, item, _ in ROWS]
    assert len(rows) == len(set(rows)) >= 312
