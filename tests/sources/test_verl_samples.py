"""Samples from a batch of veRL, in the cases that a healthy training does not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rollscope.sources.live.text import Decoder
from rollscope.sources.verl.batch import Batch
from rollscope.sources.verl.rollouts import samples
from rollscope.store.log.lists import Lists


class Tokenizer:
    eos_token_id = 9

    def batch_decode(self, rows: list[list[int]], skip_special_tokens: bool) -> list[str]:
        return [" ".join(map(str, row)) for row in rows]


DECODER = Decoder(Tokenizer())


def batch(**more: list[Any]) -> Batch:
    """Two samples of one prompt: the first was aborted, the second has three tokens."""
    tokens: dict[str, list[Any]] = {"prompts": [[1, 2]] * 2, "responses": [[], [4, 5, 9]], **more}
    arrays = {name: Lists.of([np.array(row or np.empty(0, np.int64)) for row in rows]) for name, rows in tokens.items()}
    return Batch(7, ["a", "b"], arrays, {"uid": ["g", "g"]}, longest=3, now=6)


def test_an_aborted_sample_has_no_score_and_is_not_trained() -> None:
    aborted, whole = samples(batch(rm_scores=[[], [0.0, 0.0, 0.5]], advantages=[[], [1.0, 1.0, 4.0]]), DECODER)
    assert (aborted["stop_reason"], aborted["trained"], aborted["discard_reason"]) == ("aborted", False, "masked")
    assert not {"score", "reward", "advantage"} & aborted.keys() and aborted["completion_tokens"] == 0
    assert (whole["score"], whole["reward"], whole["advantage"]) == (0.5, 0.5, 2.0)
    assert (whole["stop_reason"], whole["trained"], whole["group"], whole["repeat"]) == ("stop", True, "g", 1)


def test_a_rejected_sample_keeps_what_the_policy_wrote() -> None:
    masks = {"loss_mask": [[], [1, 0, 1]], "response_mask": [[], [0, 0, 0]]}
    rejected = samples(batch(**masks, advantages=[[], [1.0, 1.0, 4.0]]), DECODER)[1]
    assert (rejected["trained"], rejected["discard_reason"]) == (False, "masked") and "advantage" not in rejected
    assert rejected["completion_tokens"] == 2 and rejected["action_mask"].tolist() == [1, 0, 1]


def test_values_of_other_tokens_are_left_out() -> None:
    columns = {"entropy": [[0.1, 0.2], [0.1, 0.2, 0.3, 0.4]], "old_log_probs": [[], [-1.0, -2.0, -3.0]]}
    found = samples(batch(**columns), DECODER)[1]
    assert "entropy" not in found and found["old_logp"].tolist() == [-1.0, -2.0, -3.0]


@pytest.mark.parametrize(("now", "on_policy", "expected"), [(6, True, (6, 6, 0)), (6, False, None), (None, True, None)])
def test_a_version_that_is_not_known_is_not_claimed(now: int | None, on_policy: bool, expected: Any) -> None:
    one = batch()
    one.now, one.on_policy = now, on_policy
    found = samples(one, DECODER)[1]
    names = ("policy_version_min", "policy_version_max", "off_policy_steps")
    assert tuple(found.get(name) for name in names) == (expected or (None,) * 3)


def test_parts_of_a_reward_are_numbers_and_the_rest_is_extra() -> None:
    one = batch()
    one.words["reward_extra_info"] = [{}, {"acc": np.float32(1.0), "pred": "5", "none": None}]
    found = samples(one, DECODER)[1]
    assert found["rewards"] == {"acc": 1.0} and found["extra"] == {"pred": "5"}
