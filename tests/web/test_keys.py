"""Every key does what the sheet says, and the pointer can do the same, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web.conftest import ink, until

pytestmark = pytest.mark.browser
RUN = "r/grpo-7/"


def search(part: str) -> str:
    return f"location.search.includes({part!r})"


def here(page: str) -> str:
    return f"document.querySelector('#page')?.dataset.page === {page!r}"


KEYS: list[tuple[str, list[str], str]] = [  # page, keys, what is true afterwards
    ("overview", ["g", "m"], here("metrics")),
    ("metrics", ["g", "o"], here("overview")),
    ("overview", ["g", "r"], here("rollouts")),
    ("overview", ["g", "t"], here("timeline")),
    ("overview", ["g", "s"], here("system")),
    ("overview", ["g", "n"], here("environment")),
    ("overview", ["g", "e"], here("evals")),
    ("overview", ["g", "c"], here("compare")),
    ("overview", ["g", "f"], here("findings")),
    ("overview", ["g", "w"], here("glossary")),
    ("overview", ["g", "q"], here("sql")),
    ("overview", ["g", "l"], here("runs")),
    ("overview", ["c"], here("compare")),
    ("overview", ["ArrowLeft"], search("step=311")),
    ("overview?step=100", ["ArrowRight"], search("step=101")),
    ("overview?step=100", ["Shift+ArrowLeft"], search("step=90")),
    ("overview?step=100", ["Shift+ArrowRight"], search("step=110")),
    ("overview?step=100", ["Home"], search("step=0")),
    ("overview?step=100", ["End"], "!location.search.includes('step=')"),
    ("overview?step=100", ["."], "!location.search.includes('step=')"),
    (
        "metrics?step=190",
        ["]"],
        "(s => s >= 205 && s <= 225)(Number(new URLSearchParams(location.search).get('step')))",
    ),
    ("metrics?step=300", ["["], "(s => s >= 205 && s < 300)(Number(new URLSearchParams(location.search).get('step')))"),
    ("metrics?range=50-100", ["z"], "!location.search.includes('range=')"),
    ("metrics", ["x"], search("x=time")),
    ("metrics", ["x", "x"], search("x=tokens")),
    ("metrics", ["y"], search("y=log")),
    ("metrics", ["s"], search("smooth=.6")),
    ("metrics", ["n"], search("norm=1")),
    ("metrics", ["m"], "document.activeElement?.tagName === 'TEXTAREA'"),
    ("metrics", ["/"], "document.activeElement?.matches('[data-search]')"),
    ("metrics", ["Control+k"], "document.activeElement?.matches('.palette input')"),
    ("metrics", ["?"], "document.querySelector('.sheet .keys') !== null"),
    ("metrics", ["+"], "document.documentElement.dataset.density === 'large'"),
    ("metrics", ["-"], "document.documentElement.dataset.density === 'compact'"),
    ("metrics", ["\\"], "document.documentElement.dataset.theme === 'dark'"),
    ("metrics", ["j"], "document.querySelector('.card.chart.at')?.dataset.metric === 'reward/generated/mean'"),
    ("metrics", ["j", "j", "j", "k"], "document.querySelectorAll('.card.chart.at').length === 1"),
    ("metrics", ["j", "Enter"], search("open=point:reward/generated/mean")),
    ("metrics", ["j", "e"], search("large=reward/generated/mean")),
    ("metrics", ["j", "t"], search("table=reward/generated/mean")),
    ("metrics", ["j", "p"], "document.querySelector('#s-pinned [data-metric=\"reward/generated/mean\"]') !== null"),
    ("metrics?open=metric:policy/entropy", ["Escape"], "!location.search.includes('open=')"),
    ("metrics?large=policy/entropy", ["Escape"], "!location.search.includes('large=')"),
    ("findings", ["j", "Enter"], search("open=finding:")),
    ("glossary", ["j"], search("name=")),
    ("metrics", ["2"], search("runs=")),
]


@pytest.mark.parametrize(("start", "keys", "then"), KEYS, ids=[f"{s} {' '.join(k)}" for s, k, _ in KEYS])
def test_a_key_does_what_it_says(site: str, tab: Any, start: str, keys: list[str], then: str) -> None:
    tab.goto(site + RUN + start)
    page = start.split("?")[0]
    tab.wait_for_selector(f'[data-page="{page}"]')
    tab.wait_for_selector('.tape canvas[data-ink]:not([data-ink*="findings=0"])')  # the rules have read the run
    tab.wait_for_selector(".rail .run:nth-child(4)")
    if page == "metrics":
        ink(tab, "reward/generated/mean")
    if page in ("findings", "glossary"):
        tab.wait_for_selector("#page button")
    assert not tab.evaluate(then)
    for key in keys:
        tab.keyboard.press(key)
    until(tab, then)


def test_u_copies_the_address(site: str, tab: Any) -> None:
    tab.goto(site + RUN + "metrics?step=120&y=log")
    tab.wait_for_selector(".tape canvas[data-ink]")
    tab.keyboard.press("u")
    until(tab, "toasts.includes('Link copied')")
    assert tab.evaluate("navigator.clipboard.readText()") == tab.evaluate("location.href")


def test_in_the_list_of_runs_space_selects_enter_opens_c_compares(site: str, tab: Any) -> None:
    tab.goto(site)
    tab.wait_for_selector(".runs-page tr.at")
    for key in ("Space", "j", "Space", "c"):
        tab.keyboard.press(key)
    until(tab, here("compare") + " && " + search("runs="))
    tab.goto(site)
    tab.wait_for_selector(".runs-page tr.at")
    tab.keyboard.press("j")
    tab.keyboard.press("Enter")
    until(tab, here("overview"))


def test_the_sheet_lists_every_key_and_its_words(site: str, tab: Any) -> None:
    tab.goto(site + RUN + "metrics")
    ink(tab, "reward/generated/mean")
    tab.click('.rail button[aria-label="Keys (?)"]')
    tab.wait_for_selector(".sheet .keys")
    text = tab.inner_text(".sheet")
    listed = {line.strip() for line in text.splitlines()}
    for key in (
        "Ctrl K",
        "?",
        "/",
        "Esc",
        "g o",
        "g q",
        "g l",
        "←",
        "Shift →",
        "[",
        "]",
        "Home",
        "z",
        "x",
        "y",
        "s",
        "n",
        "u",
        "m",
        "c",
        "-",
        "\\",
        "1 to 9",
        "j",
        "k",
        "Enter",
        "p",
        "e",
        "t",
    ):
        assert any(key == word or key in word.split(", ") for word in listed), key


CONTROLS = [  # page, control, what is true afterwards
    ("metrics", '.bar button[aria-label^="Notes"]', search("open=notes:")),
    ("metrics", '.seg[aria-label="x axis"] button:has-text("elapsed")', search("x=relative")),
    ("metrics", '.seg[aria-label="y scale"] button:has-text("symlog")', search("y=symlog")),
    ("metrics", 'button:has-text("normalise")', search("norm=1")),
    (
        "metrics",
        '.seg[aria-label="density"] button:has-text("L")',
        "document.documentElement.dataset.density === 'large'",
    ),
    ("metrics", '.rail button[aria-label^="Dark"]', "document.documentElement.dataset.theme === 'dark'"),
    ("metrics", '.rail button[aria-label^="Copy the link"]', "toasts.includes('Link copied')"),
    ("metrics?range=50-100", ".tape .whole", "!location.search.includes('range=')"),
    ("metrics", ".bar .search", "document.querySelector('.palette') !== null"),
    ("metrics", ".rail .pages >> text=Compare", here("compare")),
]


@pytest.mark.parametrize(("start", "control", "then"), CONTROLS, ids=[c for _, c, _ in CONTROLS])
def test_every_key_has_a_visible_control(site: str, tab: Any, start: str, control: str, then: str) -> None:
    tab.goto(site + RUN + start)
    ink(tab, "reward/generated/mean")
    tab.wait_for_selector(".tape canvas[data-ink]")
    assert not tab.evaluate(then)
    tab.click(control)
    until(tab, then)


@pytest.mark.parametrize("tool", ["Pin (p)", "Show as a table (t)", "Enlarge (e)"])
def test_a_card_has_its_tools_under_the_pointer(site: str, tab: Any, tool: str) -> None:
    tab.goto(site + RUN + "metrics?q=policy/entropy")
    ink(tab, "policy/entropy")
    tab.hover('[data-metric="policy/entropy"]')
    tab.click(f'[data-metric="policy/entropy"] button[aria-label="{tool}"]')
    then = {
        "Pin (p)": "JSON.parse(localStorage.getItem('rollscope.pins')).includes('policy/entropy')",
        "Show as a table (t)": search("table=policy/entropy"),
        "Enlarge (e)": search("large=policy/entropy"),
    }
    until(tab, then[tool])


def test_back_undoes_what_a_person_did(site: str, tab: Any) -> None:
    tab.goto(site + RUN + "metrics?q=policy/entropy")
    ink(tab, "policy/entropy")
    tab.click('[data-metric="policy/entropy"] .title')
    until(tab, search("open=metric:policy/entropy"))
    tab.click(".rail .pages >> text=Findings")
    until(tab, here("findings"))
    tab.go_back()
    until(tab, here("metrics") + " && " + search("open=metric:policy/entropy"))
    tab.go_back()
    until(tab, "!location.search.includes('open=')")
    tab.wait_for_selector(".drawer", state="detached")
