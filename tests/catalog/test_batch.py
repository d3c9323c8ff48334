"""All layouts give the same numbers; an error names the key, its shape and what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import rollscope as rs
from rollscope.catalog.compute.subset import take
from rollscope.errors import BadBatch

NAN = float("nan")
PADDED: dict[str, Any] = {
    "logp": np.array([[-1.0, -2.0, NAN], [-3.0, -0.5, -0.25], [NAN, NAN, NAN]]),
    "old_logp": np.array([[-1.1, -1.9, NAN], [-3.0, -0.4, -0.5], [NAN, NAN, NAN]]),
    "action_mask": np.array([[1, 1, 0], [1, 1, 1], [0, 0, 0]]),
    "advantages": np.array([1.0, -1.0, 0.5]),
    "clip_low": 0.1,
    "clip_high": 0.1,
    "score": [1.0, 0.0, 0.5],
}
LENGTHS = [2, 3, 0]


def ragged(make: Any) -> dict[str, Any]:
    rows = {
        name: [make(row[:n]) for row, n in zip(PADDED[name], LENGTHS, strict=True)] for name in ("logp", "old_logp")
    }
    return {name: value for name, value in PADDED.items() if name != "action_mask"} | rows


def packed(make: Any) -> dict[str, Any]:
    return {
        name: make(np.concatenate(value)) if name in ("logp", "old_logp") else value
        for name, value in ragged(np.asarray).items()
    } | {"lengths": LENGTHS}


LAYOUTS = {
    "lists": {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in PADDED.items()},
    "ragged lists": ragged(list),
    "ragged arrays": ragged(np.asarray),
    "ragged tensors": ragged(torch.as_tensor),
    "nested tensor": ragged(torch.as_tensor)
    | {
        name: torch.nested.nested_tensor(ragged(torch.as_tensor)[name], layout=torch.jagged)
        for name in ("logp", "old_logp")
    },
    "packed": packed(np.asarray),
    "packed tensor": packed(torch.as_tensor),
    "padded tensor": {
        name: torch.as_tensor(value) if isinstance(value, np.ndarray) else value for name, value in PADDED.items()
    },
    "with a graph": PADDED | {"logp": torch.as_tensor(PADDED["logp"]).requires_grad_()},
    "boolean mask": PADDED | {"action_mask": PADDED["action_mask"] > 0},
    "float mask": PADDED | {"action_mask": PADDED["action_mask"].astype(np.float32)},
    "advantages per token": PADDED | {"advantages": np.repeat(PADDED["advantages"][:, None], 3, axis=1)},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_numbers(layout: str) -> None:
    whole, other = rs.compute(PADDED), rs.compute(LAYOUTS[layout])
    shared = [name for name in whole if name.startswith(("policy/", "advantage/", "score/"))]
    assert len(shared) > 30
    assert {name: other[name].value for name in shared} == {
        name: pytest.approx(whole[name].value, rel=1e-6, nan_ok=True) for name in shared
    }


def test_values_outside_the_mask_are_never_read() -> None:
    dirty = PADDED | {"logp": np.where(PADDED["action_mask"] > 0, PADDED["logp"], 1e30)}
    assert {n: p.state() for n, p in rs.compute(dirty).items()} == {n: p.state() for n, p in rs.compute(PADDED).items()}


def test_the_loss_counts_the_mask_and_kl_counts_every_sampled_token() -> None:
    metrics = rs.compute(PADDED | {"mask": np.array([[1, 1, 0], [0, 0, 0], [0, 0, 0]])})
    assert metrics["policy/clip/region"].weight == 2
    assert metrics["policy/kl_update_k1"].weight == 5


def test_a_mask_outside_the_sampled_tokens_selects_nothing() -> None:
    assert rs.compute(PADDED | {"mask": np.ones((3, 3))})["policy/ratio/mean"].weight == 5


def test_without_any_mask_every_position_counts() -> None:
    assert rs.compute({"logp": [[-1.0, -2.0], [-3.0, -4.0]]})["policy/entropy_sampled"].weight == 4


def test_reward_is_the_score_where_it_is_not_given() -> None:
    assert rs.compute({"score": [1.0, 0.0]})["reward/mean"].value == 0.5


def test_a_missing_input_is_a_missing_metric_not_an_error() -> None:
    assert "policy/clip/region" not in rs.compute({"logp": [[-1.0]], "old_logp": [[-1.0]]})


WRONG = {
    "unknown key": ({"logps": [[-1.0]]}, "a key 'logps' that compute does not know. Did you mean 'logp'"),
    "flat without lengths": ({"logp": [-1.0, -2.0]}, r"batch\['logp'\] has shape \[2\] without `lengths`"),
    "lengths that do not add up": ({"logp": [-1.0, -2.0], "lengths": [1, 2]}, "`lengths` sum to 3"),
    "other number of samples": (
        {"logp": [[-1.0]], "mask": [[1], [1]]},
        r"batch\['mask'\] has 2 samples where batch\['logp'\] has 1",
    ),
    "other width": (
        {"logp": [[-1.0]], "mask": [[1, 1]]},
        r"batch\['mask'\] has shape \[1, 2\].*1 samples of 1 positions",
    ),
    "one too many axes": ({"score": [[1.0]]}, r"batch\['score'\] has shape \[1, 1\]; score is one number per sample"),
    "words for numbers": ({"score": ["high"]}, r"batch\['score'\] holds values such as 'high'"),
    "words for tokens": ({"logp": [["a"]]}, r"batch\['logp'\] is list and cannot be read as numbers"),
    "complex numbers": ({"logp": np.zeros((2, 3), complex)}, r"batch\['logp'\] is ndarray of complex128"),
    "a negative count": (
        {"completion_tokens": [4, -1]},
        r"batch\['completion_tokens'\] holds -1, and a count cannot be negative",
    ),
    "a level nobody knows": (
        {"ratio_level": "sentence"},
        r"batch\['ratio_level'\] is 'sentence', expected token or sequence",
    ),
    "a list where a mapping belongs": ({"rewards": [1.0]}, r"batch\['rewards'\] is list; rewards is a mapping"),
    "many where one belongs": ({"lr": [0.1, 0.2]}, r"batch\['lr'\] has shape \[2\]; lr is a single number"),
    "a number where a word belongs": (
        {"ratio_level": 1},
        r"batch\['ratio_level'\] is int; ratio_level is a single word",
    ),
    "samples of a component": (
        {"score": [1.0, 2.0], "rewards": {"format": [1.0]}},
        r"rewards\['format'\].* has 1 samples where batch\['score'\] has 2",
    ),
}


SEVERAL: dict[str, tuple[dict[str, Any], str]] = {  # wrong for more than one key or metric
    "a negative length": (
        {"logp": np.zeros(6), "lengths": [8, -2]},
        r"batch\['lengths'\] holds -2, which is no number of tokens",
    ),
    "half a token": ({"logp": np.zeros(6), "lengths": [2.5, 3.5]}, r"batch\['lengths'\] holds 2.5"),
    "operators that are no list": ({"operators": 3}, r"batch\['operators'\] is int; expected a list"),
}


@pytest.mark.parametrize("case", WRONG | SEVERAL)
def test_an_error_names_the_wrong_key(case: str) -> None:
    batch, sentence = (WRONG | SEVERAL)[case]
    with pytest.raises(BadBatch, match=sentence):
        rs.compute(batch)


@pytest.mark.parametrize("case", WRONG)
def test_without_strict_a_problem_is_reported_and_the_rest_computed(case: str) -> None:
    problems: list[str] = []
    metrics = rs.compute({"grad_norm": 2.0} | WRONG[case][0], strict=False, problems=problems)
    assert metrics["optimiser/grad_norm"].value == 2.0
    assert len(problems) == 1


def test_a_batch_that_is_not_a_mapping_is_rejected() -> None:
    with pytest.raises(BadBatch, match="a batch is a mapping"):
        rs.compute([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "layout", ["lists", "ragged arrays", "nested tensor", "packed", "packed tensor", "padded tensor"]
)
def test_taking_some_samples_works_in_every_layout(layout: str) -> None:
    whole = rs.compute(
        {
            name: value[[1]] if isinstance(value, np.ndarray) else [value[1]] if name == "score" else value
            for name, value in PADDED.items()
        }
    )
    one = rs.compute(take(LAYOUTS[layout], np.array([False, True, False])))
    assert one["policy/kl_update_k3"].value == pytest.approx(whole["policy/kl_update_k3"].value)
    assert one["score/mean"].value == 0.0


def test_scalars_alone_are_a_batch() -> None:
    assert rs.compute({"lr": 1e-6})["optimiser/lr"].value == 1e-6
    assert rs.compute({"score": 1.0})["score/mean"].weight == 1


def test_rows_of_one_length_are_still_rows_without_padding() -> None:
    batch = {"logp": [np.zeros(2), np.zeros(2), np.zeros(5)], "action_mask": [np.array([1, 0]), np.ones(2), np.ones(5)]}
    parts = [rs.compute(take(batch, part)) for part in ([0, 1], [2])]
    assert (
        (parts[0]["length/response/mean"] + parts[1]["length/response/mean"]).value
        == rs.compute(batch)["length/response/mean"].value
        == 3
    )
