"""A training of veRL with its own engine, loss and optimiser: the samples give what it logged."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from rollscope.store import store as rs  # the stored series, without derived ones
from tests.frameworks.test_verl_rollouts import LOGPS, STEPS, logged, ran, samples, stored_is_logged

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif("ROLLSCOPE_FRAMEWORKS" not in os.environ, reason="run by: make test-frameworks"),
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verl")
    assert "rollscope:" not in ran("verl_train_run.py", folder, "0.9")
    return folder


def test_numbers_are_those_that_the_training_logged(trained: Path) -> None:
    stored_is_logged(trained)
    assert all(values["actor/grad_norm"] > 0 for values in logged(trained).values()), "the weights were updated"


def test_tokens_and_log_probabilities_are_those_of_the_update(trained: Path) -> None:
    rows = samples(trained)
    for step in range(1, STEPS + 1):
        held = np.load(trained / "held" / f"{step}.npz")
        own = [row for row in rows if row["step"] == step]
        assert len(own) == len(held["responses"]) == 16
        for i, row in enumerate(own):
            length = int(held["response_mask"][i].sum())
            assert list(row["token_ids"]) == held["responses"][i, :length].tolist()
            for ours, theirs in {**LOGPS, "token_advantages": "advantages"}.items():
                np.testing.assert_allclose(row[ours], held[theirs][i, :length], rtol=1e-6)
            assert row["group"] == str(held["uid"][i]) and row["policy_version_max"] == step - 1


def test_texts_of_drawn_bytes_are_those_of_verls_own_dump(trained: Path) -> None:
    rows = samples(trained)
    for step in range(1, STEPS + 1):
        dump = [json.loads(line) for line in (trained / "dump" / f"{step}.jsonl").read_text().splitlines()]
        own = [row for row in rows if row["step"] == step]
        assert [(row["prompt"], row["completion"]) for row in own] == [(one["input"], one["output"]) for one in dump]
    assert any("\ufffd" in row["completion"] for row in rows), "they are not all UTF-8"


def test_samples_recompute_rewards_entropy_kl_and_mismatch(trained: Path) -> None:
    for step, data in logged(trained).items():
        own = [row for row in samples(trained) if row["step"] == step]
        rollout, old, ref, entropy = (
            np.concatenate([row[name] for row in own]) for name in ("rollout_logp", "old_logp", "ref_logp", "entropy")
        )
        assert np.mean([row["reward"] for row in own]) == pytest.approx(data["critic/rewards/mean"], rel=1e-5)
        assert np.mean([row["response_tokens"] for row in own]) == pytest.approx(data["response_length/mean"])
        assert entropy.mean() == pytest.approx(data["actor/entropy"], rel=1e-4)
        difference = np.abs(np.exp(rollout) - np.exp(old))
        assert difference.mean() == pytest.approx(data["training/rollout_probs_diff_mean"], rel=1e-3)
        k3 = np.exp(ref - old) - 1 - (ref - old)  # one update a step: the policy of the loss is the old one
        assert k3.mean() == pytest.approx(data["actor/kl_loss"], abs=1e-4)


def test_stages_of_the_training_are_spans(trained: Path) -> None:
    spans = rs.open(trained / "runs").run().spans()
    assert {"gen", "old_log_prob", "ref", "adv", "update_actor", "step"} <= {*spans["name"]}
