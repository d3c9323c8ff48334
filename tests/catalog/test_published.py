"""Every name in the published guides resolves to an entry that has a producer."""

from __future__ import annotations

import pytest

from rollscope.catalog.guidance import SCENARIOS, SYMPTOMS
from rollscope.catalog.names.published import CORRECTIONS, GUIDES
from rollscope.catalog.names.resolve import resolve

PRINTED = [
    pytest.param(name, guide.dialect, id=f"{guide.dialect}-{name}") for guide in GUIDES for name in guide.metrics
]


@pytest.mark.parametrize("name, dialect", PRINTED)
def test_a_printed_name_resolves_and_has_a_producer(name: str, dialect: str | None) -> None:
    match = resolve(name, dialect)
    assert match.entry.producer != "framework", f"{name} is only kept as logged; it should be computed"
    assert match.entry.needs, f"{match.entry.name} does not say what it is made from"


GLOSSARY = [name for guide in GUIDES if guide.name.startswith("Training metrics glossary") for name in guide.metrics]


@pytest.mark.parametrize("name", GLOSSARY)
def test_the_glossarys_names_need_no_dialect(name: str) -> None:
    assert resolve(name).entry.meaning


NAMED = sorted({w.metric for s in SCENARIOS for w in s.watch} | {m for s in SYMPTOMS for m, _ in (*s.first, *s.then)})


@pytest.mark.parametrize("name", NAMED)
def test_guidance_names_only_metrics_that_exist(name: str) -> None:
    assert resolve(name).via is None


def test_every_correction_says_what_the_code_does_and_where() -> None:
    guides = {g.name for g in GUIDES}
    assert all(c.guide in guides and c.says and c.code and c.where for c in CORRECTIONS)
