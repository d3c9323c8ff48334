"""A question imports only what it needs: pandas, Parquet and DuckDB take longer than an answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rollscope.store.seal import logs

QUESTIONS = {
    "a series": ("run.series('loss')", ("pandas", "duckdb")),
    "a series in buckets": ("run.series('loss', points=2)", ("pandas", "duckdb")),
    "many series": ("run.buckets(['loss', 'other'], 0, 9, 3)", ("pandas", "duckdb")),
    "steps with their clocks": ("run.steps()", ("pandas", "duckdb")),
    "a table without rows": ("run.table('evals', as_arrow=True)", ("pandas", "duckdb")),
    "statistics of samples": ("step_statistics(run)", ("pandas", "duckdb", "pyarrow.parquet", "pyarrow.compute")),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_imports_no_more_than_it_needs(world: Any, tmp_path: Path, question: str) -> None:
    w = world.writer()
    for step in range(10):
        w.metrics(step, {"loss": float(step), "other": 1.0})
        w.rows("samples", [{"id": f"{step}-{i}", "step": step, "reward": float(i)} for i in range(4)])
        if step == 5:
            w.rotate()
    w.finish()
    assert logs.seal(str(world.run)) == 2
    beside = tmp_path / "beside"  # a stand-in for pandas, which may not be installed
    (beside / "pandas").mkdir(parents=True)
    (beside / "pandas" / "__init__.py").write_text("__version__ = '3.0.0'\n")
    code, unwanted = QUESTIONS[question]
    program = f"""
import sys
sys.path.insert(0, {str(beside)!r})
import rollscope as rs
from rollscope.views.steps import step_statistics
run = rs.open({str(world.root)!r}).run()
{code}
print([name for name in {unwanted!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
