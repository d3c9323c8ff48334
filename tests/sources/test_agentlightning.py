"""What Agent-Lightning's exporter sent: imported from a file, sent again, and sent by itself.

`make test-frameworks-all` lets the package send them again, from the rollouts below.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rollscope.store import store as rs
from tests.frameworks.dumps_run import ROLLOUTS
from tests.recorded import SENT, held, recorded
from tests.sources.conftest import Imported
from tests.sources.test_otlp import post, records, serving

ROOT = Path(__file__).parents[2]
SPANS = ROOT / "tests" / "golden" / "dumps" / "agentlightning" / "spans.jsonl"
PYTHON = ROOT / ".venvs" / "agentlightning" / "bin" / "python"
ID = "agentlightning"
SERVICE = "unknown_service"  # what OpenTelemetry calls it where OTEL_SERVICE_NAME is not set


def holds_the_rollouts(run: Any) -> None:
    """What is recorded of the rollouts that `agentlightning_run.py` lets the package make."""
    assert recorded(run) == held("agentlightning", SENT)
    samples = records(run.sql("select * from samples order by time_ns"))
    names = ("prompt", "completion", "reward")
    assert [tuple(sample[name] for name in names) for sample in samples] == [rollout[1:] for rollout in ROLLOUTS]
    assert all(sample["id"].startswith("ro-") for sample in samples)
    parts = [json.loads(sample["rewards"]) for sample in samples]
    assert parts == [{"right": reward, "format": 1.0} for *_, reward in ROLLOUTS]
    assert {sample["stop_reason"] for sample in samples} == {"stop"}


def holds_tokens_of_all_calls(run: Any) -> None:
    """A token is a character. Between the two calls of the last rollout is what the tool said."""
    rows = records(run.sql("select * from samples order by time_ns"))
    for (_, prompt, completion, _), row in zip(ROLLOUTS[:3], rows[:3], strict=True):
        assert row["prompt_tokens"] == len(prompt) and list(row["token_ids"]) == [*map(ord, completion)]
        assert list(row["rollout_logp"]) == [-0.5] * len(completion)
    called, said, last = 'add({"a": 3, "b": 3})', ROLLOUTS[3][2], rows[3]
    assert "".join(map(chr, last["token_ids"])) == f"{called}6{said}"
    assert list(last["action_mask"]) == [1] * len(called) + [0] + [1] * len(said)
    assert list(last["rollout_logp"]) == [-0.5] * len(called) + [0.0] + [-0.5] * len(said)
    assert (last["prompt_tokens"], last["completion_tokens"]) == (len("3 + 3?"), len(called + said))


def holds_turns_and_spans(run: Any) -> None:
    last = run.sql("select id from samples order by time_ns desc limit 1")["id"][0]
    turns = records(run.sql(f"select * from turns where sample = '{last}' order by turn"))
    assert [turn["role"] for turn in turns] == ["user", "assistant", "tool", "assistant"]
    assert [turn["stop_reason"] for turn in turns if turn["role"] == "assistant"] == ["tool", "stop"]
    assert [turns[2][name] for name in ("tool", "arguments", "result")] == ["add", '{"a": 3, "b": 3}', "6"]
    spans = records(run.sql("select * from spans order by start_ns"))
    assert {span["sample"] for span in spans} == {*run.samples()["id"].tolist()}
    assert {span["lane"] for span in spans} == {SERVICE} and all(span["end_ns"] > span["start_ns"] for span in spans)
    (operation,) = [json.loads(span["data"]) for span in spans if span["name"] == "agentlightning.operation"]
    assert (operation["agentlightning.operation.name"], operation["agentlightning.operation.output"]) == ("add", 6)


def check(run: Any) -> None:
    holds_the_rollouts(run)
    holds_tokens_of_all_calls(run)
    holds_turns_and_spans(run)


def test_a_file_of_what_the_package_sent(imported: Imported) -> None:
    assert not imported.take(SPANS).skipped
    check(imported.run(ID))


def test_a_receiver_of_what_the_package_sent(tmp_path: Path) -> None:
    with serving(tmp_path, "otlp") as url:
        for line in SPANS.read_bytes().splitlines():
            assert post(f"{url}/v1/traces", line) == (200, {})
    check(rs.open(tmp_path).run(ID))


@pytest.mark.frameworks
@pytest.mark.skipif(not PYTHON.exists(), reason="run by: make test-frameworks-all")
def test_a_receiver_that_the_package_sends_to(tmp_path: Path) -> None:
    program = ROOT / "tests" / "frameworks" / "agentlightning_run.py"
    env = {**os.environ, "PYTHONPATH": "", "OTEL_RESOURCE_ATTRIBUTES": f"rl.run.id={ID}"}
    with serving(tmp_path / "runs", "otlp") as url:
        command = [str(PYTHON), str(program), f"{url}/v1/traces"]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr[-3000:]
    check(rs.open(tmp_path / "runs").run(ID))
