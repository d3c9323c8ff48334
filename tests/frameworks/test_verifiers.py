"""An environment of verifiers, recorded while it runs: what is stored is what it writes.

Needs `.venvs/verifiers-live`, which `run_all.py` creates: `make test-frameworks-all`.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rollscope.store import store as rs  # the stored series, without derived ones
from tests.recorded import LIVE, held, recorded

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".venvs" / "verifiers-live" / "bin" / "python"
FAULTS = ("setup", "before", "after", "run", "disk")  # of faults.py

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS_ALL" not in os.environ, reason="run by: make test-frameworks-all"),
]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verifiers")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [PYTHON, HERE / "verifiers_run.py", folder, *FAULTS], env=env, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.count("a bug of ours") >= 2, done.stderr[-3000:]
    return folder


def episodes(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "traces.jsonl").read_text().splitlines()]


def samples(out: Path) -> dict[str, dict[str, Any]]:
    rows = rs.open(out / "runs").run().samples()
    found = [dict(zip(rows, values, strict=True)) for values in zip(*rows.values(), strict=True)]
    return {one["id"]: one for one in found}


def test_every_trace_is_a_sample_with_its_rewards(out: Path) -> None:
    found, traces = samples(out), [one["traces"][0] for one in episodes(out)]
    assert len(traces) == 12 and found.keys() == {trace["id"] for trace in traces}
    for trace in traces:
        one = found[trace["id"]]
        parts = {name: part["score"] for name, part in trace["rewards"].items()}
        assert (one["rewards"] or {}) == parts
        if parts:
            assert one["reward"] == sum(part["score"] * part["weight"] for part in trace["rewards"].values())
            assert (one["sample_metrics"], one["error"]) == (trace["metrics"], None)
            assert one["completion"].splitlines()[-1] == trace["nodes"][-1]["message"]["content"]
        else:
            assert one["error"].startswith("ProviderError: upstream 400") and one["answer"] == "4"


def test_groups_are_a_task_at_a_step(out: Path) -> None:
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in samples(out).values():
        groups.setdefault(one["group"], []).append(one)
    assert len(groups) == 6
    for ones in groups.values():
        assert len({(one["task"], one["step"]) for one in ones}) == 1 and sorted(o["repeat"] for o in ones) == [0, 1]
    assert {one["step"] for one in samples(out).values()} == {3, 4}


def test_tokens_and_turns_are_those_of_the_path(out: Path) -> None:
    asked = [one for one in samples(out).values() if one["prompt"] == "1 + 1?"]
    assert len(asked) == 4
    for one in asked:
        assert (one["turns"], one["tool_calls"]) == (2, 1) and one["completion"] == "I add.\nIt is 2."
        assert one["token_ids"].tolist() == [10, 11, 20, 21, 30, 31] and one["action_mask"].tolist() == [
            1,
            1,
            0,
            0,
            1,
            1,
        ]
        assert one["rollout_logp"].tolist() == [-0.25, -0.125, 0, 0, -0.25, -0.125]
        turns = rs.open(out / "runs").run().sql(f"select * from turns where sample = '{one['id']}' order by turn")
        assert [*turns["role"]] == ["user", "assistant", "tool", "assistant"]
        assert (turns["tool"][2], turns["arguments"][2], turns["result"][2]) == ("add", '{"a": 1}', "4")
        assert turns["stop_reason"][1] == "tool" and turns["seconds"][1] > 0


def test_everything_of_the_table_is_recorded(out: Path) -> None:
    assert recorded(rs.open(out / "runs").run()) == held("prime_rl", LIVE)
    (about,) = rs.open(out / "runs").runs()
    assert (about.framework, about.name, about.state) == ("verifiers@0.4.0", "adding", "finished")


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_ours_keeps_an_episode_from_ending(fault: str, out: Path) -> None:
    def told(folder: Path) -> list[Any]:
        ones = [(one["task"]["key"], one["ok"], one["traces"][0]["rewards"]) for one in episodes(folder)]
        return sorted(ones, key=str)

    assert told(out / fault) == told(out)
