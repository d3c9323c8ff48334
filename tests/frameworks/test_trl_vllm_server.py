"""TRL with a vLLM server on the CPU: in server mode, and with the asynchronous trainer.

Needs `.venvs/vllm` and `.venvs/trlvllm`, which `run.py` creates.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frameworks.test_trl import logged, opened, stored_is_logged
from tests.frameworks.test_trl_vllm import PYTHON, agree, are_answers, array, give_the_mismatch, ran, samples_of
from tests.ports import free_port

GROUP, STEPS = 4, 6  # of the asynchronous training in trl_vllm_server_run.py

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
    pytest.mark.skipif(not PYTHON.exists(), reason="vLLM's CPU build takes no other build of torch than the CPU's"),
]


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both trainings, with one server."""
    root = tmp_path_factory.mktemp("trl_vllm_server")
    ran("trl_vllm_server_run.py", root, free_port(), free_port())
    return root


@pytest.mark.parametrize("kind", ["server", "async"])
def test_what_is_stored_is_what_the_trainer_logged(kind: str, outputs: Path) -> None:
    stored_is_logged(outputs / kind)
    name = {"server": "sampling/sampling_logp_difference/max", "async": "rollout/duration_s"}[kind]
    assert len(logged(outputs / kind)[name]) >= 5
    assert (
        opened(outputs / kind)
        .record()["framework"]
        .startswith({"server": "trl:grpo@", "async": "trl:async_grpo@"}[kind])
    )


def test_a_sample_is_what_the_server_answered(outputs: Path) -> None:
    are_answers(outputs / "server")


def test_the_server_has_the_weights_of_the_trainer(outputs: Path) -> None:
    agree(samples_of(outputs / "server"), updates=5)


def test_samples_give_what_trl_says_of_server_and_trainer(outputs: Path) -> None:
    give_the_mismatch("server", outputs / "server")


def test_calls_of_the_server_are_spans(outputs: Path) -> None:
    spans = opened(outputs / "server").spans()
    for name in ("GRPOTrainer.vLLM.generate", "GRPOTrainer.sync_weights"):
        assert [step for one, step in zip(spans["name"], spans["step"], strict=True) if one == name] == [1, 2, 3, 4, 5]


def trained(outputs: Path) -> list[dict[str, Any]]:
    return [s for s in samples_of(outputs / "async") if s["trained"]]


def test_a_sample_of_the_asynchronous_trainer_is_at_the_update_that_used_it(outputs: Path) -> None:
    """The tokens of each update are those that came to its loss, and it knows how old they were."""
    updates = json.loads((outputs / "async" / "trained.json").read_text())
    samples = trained(outputs)
    assert len(updates) == STEPS
    for update in updates:
        these = [s for s in samples if s["step"] == update["step"]]
        assert len(these) == 8
        ours = sorted(np.concatenate([array(s, "rollout_logp") for s in these]).tolist())
        assert ours == sorted(update["logps"])
        assert all(s["off_policy_steps"] == update["version"] - s["policy_version_min"] for s in these)
    assert max(s["off_policy_steps"] for s in samples) > 0


def test_samples_of_the_asynchronous_trainer_give_its_numbers(outputs: Path) -> None:
    """TRL counts a micro-batch when it is made, and it makes one ahead."""
    samples, expected = trained(outputs), logged(outputs / "async")
    for step in range(2, STEPS):
        these = [s for s in samples if s["step"] == step + 1]
        assert np.mean([s["reward"] for s in these]) == pytest.approx(expected["reward"][step], rel=1e-5)
        tokens = np.mean([s["completion_tokens"] for s in these])
        assert tokens == pytest.approx(expected["sample/trained_tokens_mean"][step])
    for step in range(1, STEPS + 1):
        these = [s for s in samples if s["step"] == step]
        assert len(these) == expected["batch/samples_per_step"][step]
        assert sum(s["completion_tokens"] for s in these) == expected["batch/trained_tokens_per_step"][step]


def test_samples_that_were_too_old_are_discarded(outputs: Path) -> None:
    samples, expected = samples_of(outputs / "async"), logged(outputs / "async")
    stale = [s for s in samples if s["discard_reason"] == "stale"]
    assert len(stale) == sum(expected["sample/dropped_stale_total"].values()) > 0
    assert all(s["trained"] is False for s in stale)
    assert {s["discard_reason"] for s in samples} == {None, "stale"}
    made_ahead = [s for s in samples if s["trained"] is None]  # and never came to a loss
    assert len(made_ahead) + len(stale) + STEPS * 8 == len(samples)


def test_groups_of_the_asynchronous_trainer_give_its_advantages(outputs: Path) -> None:
    groups: dict[str, list[dict[str, Any]]] = {}
    for sample in samples_of(outputs / "async"):
        groups.setdefault(sample["group"], []).append(sample)
    whole = [group for group in groups.values() if len(group) == GROUP]  # the last may be in the queue
    assert len(whole) >= len(groups) - 1
    for group in whole:
        rewards, advantages = np.array([(s["reward"], s["advantage"]) for s in group]).T
        assert advantages == pytest.approx((rewards - rewards.mean()) / (rewards.std() + 1e-4), rel=2e-3, abs=1e-3)
        assert [s["repeat"] for s in group] == [0, 1, 2, 3]
        assert all(s["rewards"] is not None and s["stop_reason"] in ("stop", "length") for s in group)
