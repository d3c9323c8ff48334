"""Which ids of dumps stand for which samples of a run, in a file beside its logs."""

from __future__ import annotations

from pathlib import Path

from rollscope.sources.intake.guest.same import NAME, Same


def test_a_line_that_was_cut_off_costs_no_other(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('["a", "own0"]\n["b", "ow')
    Same(tmp_path).add({"c": "own1", "d": "own2"})
    Same(tmp_path).add({"d": None, "e": "own3"})
    read = Same(tmp_path)
    assert [read.get(id) for id in "abcde"] == ["own0", None, "own1", None, "own3"]
