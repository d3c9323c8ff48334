"""Sections: every entry has one, with a title that a person would say."""

from __future__ import annotations

import pytest

import rollscope.catalog.families  # noqa: F401  # fills the catalogue
from rollscope.catalog.sections import SECTIONS, Section, section_of
from rollscope.catalog.spec import METRICS


def test_every_entry_belongs_to_a_section_of_the_table() -> None:
    assert {name for name in METRICS if section_of(name) not in SECTIONS} == set()


def test_every_section_has_entries() -> None:
    assert {s.key for s in SECTIONS} == {section_of(name).key for name in METRICS}


def test_a_head_belongs_to_one_section() -> None:
    heads = [head for section in SECTIONS for head in section.heads]
    assert len(heads) == len(set(heads))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.key)
def test_a_section_has_a_title_and_a_sentence(section: Section) -> None:
    assert section.title not in ("General", "Moe", "Staleness at", "Other") and "_" not in section.title
    assert section.about.endswith(".") and len(section.about) > 15


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("reward", "reward"),
        ("score", "reward"),
        ("advantage", "advantage"),
        ("turns", "turns"),
        ("staleness", "staleness"),
        ("staleness_at/{age}", "staleness"),
        ("version_span", "staleness"),
    ],
)
def test_a_name_without_a_slash_stands_with_its_family(name: str, key: str) -> None:
    assert section_of(name).key == key


def test_an_unknown_name_has_a_section_of_its_own() -> None:
    assert section_of("my_loss/total") == Section("my_loss", "My loss", "")
