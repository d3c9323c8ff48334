"""Rollouts: an answer that only calls tools shows its calls, beside what the tools said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rollscope as rs
from tests.web.conftest import Served, until

pytestmark = pytest.mark.browser


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    turns = [
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "arguments": 'add({"a": 2})', "stop_reason": "tool", "tokens": 3},
        {"role": "tool", "tool": "add", "arguments": '{"a": 2}', "result": "4", "ok": True},
        {"role": "assistant", "content": "It is 4."},
    ]
    with rs.init(id="run", dir=tmp_path, host=False) as run:
        run.log_samples(step=1, samples=[{"id": "s", "group": "g", "reward": 1.0, "turns": turns}])
    served = Served(tmp_path)
    yield served.url
    served.stop()


def test_an_answer_without_words_shows_its_calls(served: str, tab: Any) -> None:
    tab.goto(f"{served}r/run/rollouts?step=1")
    tab.wait_for_selector('[data-sample="s"] .conversation')
    until(tab, "document.querySelectorAll('.conversation section.turn').length === 3")
    heads = [" ".join(text.split()) for text in tab.locator(".conversation section.turn h3").all_inner_texts()]
    assert [head.partition(" Copy")[0] for head in heads] == ["user", "assistant calls 3 tokens, tool", "assistant"]
    assert 'add({"a": 2})' in tab.inner_text(".conversation section.turn >> nth=1")
