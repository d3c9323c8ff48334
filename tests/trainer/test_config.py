"""A wrong configuration is answered with a sentence that names the nearest known key."""

from __future__ import annotations

import tomllib
import typing
from pathlib import Path

import pytest

from rollscope.errors import BadInput
from rollscope.trainer import config
from rollscope.trainer.failures import FAILURES, Faults

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "table, says",
    [
        ({"rolout": {}}, r"no key 'rolout' at the top. Did you mean 'rollout'"),
        ({"rollout": {"repeat": 4}}, r"no key 'repeat' in \[rollout\]. Did you mean 'repeats'"),
        ({"rollout": {"repeats": "four"}}, r"rollout.repeats = 'four' is a str; expected a int"),
        ({"rollout": {"repeats": True}}, r"rollout.repeats = True is a bool; expected a int"),
        ({"rollout": 3}, r"rollout is a section, \[rollout\], not the value 3"),
        ({"algorithm": {"name": "grop"}}, r"algorithm.name = 'grop' is not one of .* Did you mean 'grpo'"),
        ({"run": {"steps": 0}}, r"run.steps = 0 is too small: at least 1"),
        ({"rollout": {"repeats": 1}}, r"rollout.repeats = 1 leaves nothing to compare"),
        ({"rollout": {"temperature": 0}}, r"rollout.temperature = 0.0 must be above 0"),
        ({"model": {"width": 30}}, r"model.width = 30 must be a multiple of twice model.heads"),
        ({"failure": {"name": "entropy-collapse"}}, r"no failure 'entropy-collapse'. Did you mean 'entropy_collapse'"),
    ],
)
def test_a_wrong_value_is_answered_with_a_sentence(table, says):
    with pytest.raises(BadInput, match=says):
        config.build(table)


def test_an_integer_is_accepted_for_a_float():
    assert config.build({"optimiser": {"lr": 1}}).optimiser.lr == 1.0


def test_set_changes_values_of_the_file(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('[rollout]\nrepeats = 4\n[environment]\nname = "sorting"\n')
    changes = ["rollout.repeats=6", "environment.options.length=3", "run.name=hello", "run.tags=['a']"]
    changed = config.read(path, changes)
    assert changed.rollout.repeats == 6 and changed.environment.options == {"length": 3}
    assert changed.run.name == "hello" and changed.run.tags == ["a"]


@pytest.mark.parametrize(
    "text, changes, says",
    [
        ("a = ", [], "is not TOML"),
        ("", ["rollout.repeats"], "is not key=value"),
        ("", ["rollout.nosuch=1"], r"no key 'nosuch'"),
        (None, [], "cannot read the configuration"),
    ],
)
def test_a_file_that_cannot_be_used_is_answered_with_a_sentence(tmp_path, text, changes, says):
    path = tmp_path / "run.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadInput, match=says):
        config.read(path, changes)


@pytest.mark.parametrize(
    "path",
    sorted([*ROOT.glob("examples/*.toml"), *ROOT.glob("src/rollscope/trainer/configs/*.toml")]),
    ids=lambda p: p.name,
)
def test_every_shipped_configuration_is_valid(path):
    config.read(path)
    assert tomllib.loads(path.read_text()), "the configuration is empty"


def test_failures_are_off_by_default():
    plain = config.build({})
    assert plain.failure.name == "" and plain.failure.faults == Faults()


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_changes_something_and_has_an_expectation(name):
    plain = config.as_table(config.build({}))
    broken = config.as_table(config.build({"failure": {"name": name, "start": 3}}))
    no_faults, faults = plain.pop("failure")["faults"], broken.pop("failure")["faults"]
    assert faults.pop("start") == 3 and no_faults.pop("start") == 0
    assert plain != broken or faults != no_faults
    assert len(FAILURES[name].expect) > 30


def test_the_documentation_lists_every_failure_and_every_estimator():
    text = (ROOT / "docs" / "algorithms.md").read_text()
    estimators = typing.get_args(typing.get_type_hints(config.AlgorithmConfig)["advantage"])
    assert len(estimators) == 6
    assert [name for name in (*FAILURES, *estimators) if f"`{name}`" not in text] == []


def test_a_failure_can_be_weaker_or_stronger():
    rates = [
        config.build({"failure": {"name": "learning_rate_too_high", "strength": s}}).optimiser.lr for s in (0.5, 1.0)
    ]
    assert rates[1] == pytest.approx(2 * rates[0])
    assert config.build({"failure": {"name": "noisy_reward", "strength": 3.0}}).failure.faults.reward_noise == 6.0
    assert config.build({"failure": {"name": "nan_loss", "strength": 3.0}}).failure.faults.loss_is_nan is True
