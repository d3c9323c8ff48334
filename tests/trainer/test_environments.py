"""Environments: rewards, the split of a task, tool metrics, and errors in sentences."""

from __future__ import annotations

import random

import pytest

from rollscope.errors import BadInput
from rollscope.trainer import environments
from rollscope.trainer.environment import Environment, State, Task, Turn
from rollscope.trainer.environments.calculator import Calculator
from rollscope.trainer.environments.countdown import Countdown, value
from rollscope.trainer.environments.guessing import Guessing

SHIPPED = [environments.load(name) for name in environments.SHIPPED]
each = pytest.mark.parametrize("environment", SHIPPED, ids=lambda e: e.name)


def answered(environment: Environment, task: Task, *texts: str) -> State:
    """A task answered with these texts, with the environment's responses in between."""
    state = State(task)
    for text in texts:
        state.turns.append(Turn("assistant", text))
        turns = environment.respond(state)
        if turns is None:
            break
        state.turns += turns
    return state


@each
def test_no_task_is_in_training_and_in_evaluation(environment):
    training = {task.key for task in environment.tasks("train", 200)}
    held_out = {task.key for task in environment.tasks("eval", 20)}
    assert len(training) == 200 and len(held_out) == 20
    assert not training & held_out


@each
def test_the_same_seed_draws_the_same_tasks(environment):
    assert environment.tasks("train", 30, seed=3) == environment.tasks("train", 30, seed=3)
    assert environment.tasks("train", 30, seed=3) != environment.tasks("train", 30, seed=4)


@each
def test_a_perfect_teacher_is_always_right(environment):
    environment = environments.load(environment.name, {"skill": 1.0})
    rng = random.Random(0)
    for task in environment.tasks("train", 20):
        state = State(task)
        for _ in range(environment.max_turns):
            state.turns.append(Turn("assistant", environment.demonstrate(state, rng)))
            if (turns := environment.respond(state)) is None:
                break
            state.turns += turns
        result = environment.compute_reward(state)
        assert result.sample_metrics["accuracy"] == 1.0
        assert environment.reward_min <= result.total_reward <= environment.reward_max


@each
def test_rewards_and_metrics_stay_in_their_declared_ranges(environment):
    rng = random.Random(1)
    for task in environment.tasks("train", 50):
        words = "".join(rng.choice("0123456789+-*abc[]() ") for _ in range(rng.randint(0, 8)))
        result = environment.compute_reward(answered(environment, task, words))
        assert environment.reward_min <= result.total_reward <= environment.reward_max
        for name, (low, high) in environment.metrics_ranges.items():
            assert low <= result.sample_metrics.get(name, low) <= high or name == "distance"


@pytest.mark.parametrize(
    "answer, format, equation",
    [
        pytest.param("7*4-2", 1, 1, id="right"),
        pytest.param("4*7-2", 1, 1, id="right, in another order"),
        pytest.param("7+4+2", 1, 0, id="well formed and wrong"),
        pytest.param("7*4", 0, 0, id="a number left out"),
        pytest.param("7*4-2-2", 0, 0, id="a number used twice"),
        pytest.param("28-2", 0, 0, id="another number"),
        pytest.param("7*4-", 0, 0, id="not an expression"),
        pytest.param("", 0, 0, id="nothing"),
    ],
)
def test_countdown_rewards_the_form_and_the_target(answer, format, equation):
    task = Task("4 7 2>26:", data={"numbers": [4, 7, 2], "target": 26})
    result = Countdown().compute_reward(answered(Countdown(), task, answer))
    assert (result.rewards["format"], result.rewards["equation"]) == (format, equation)
    assert result.total_reward == sum(result.rewards.values())
    has_distance = "distance" in result.sample_metrics
    assert has_distance == bool(format), "an answer without a value has no distance, not a distance of 0"


def test_products_bind_before_sums():
    assert value("2+3*4-5") == 9
    assert value("2++3") is None


def test_the_guessing_game_answers_and_ends():
    task = Task("1-20 #0?", answer="11", data={"secret": 11}, id="x")
    state = answered(Guessing(), task, "10", "15", "eleven", "11", "12")
    assert [turn.content for turn in state.turns] == ["10", ">", "15", "<", "eleven", "!", "11"]
    result = Guessing().compute_reward(state)
    assert result.total_reward == pytest.approx(0.7) and result.sample_metrics["wasted"] == 1


def test_tool_metrics_are_recorded_automatically():
    environment = Calculator()
    task = Task("12*34?", answer="408", data={"question": "12*34"})
    state = answered(environment, task, "[calc(12*)]", "[calc(12*34)][nosuch(1)]", "408")
    counts = {"total_tool_calls": 3, "tool_success_count": 1, "tool_error_count": 2, "unique_tools_used": 2}
    calls = {"tool_success_rate": pytest.approx(1 / 3), "calc_calls": 2, "neg_calls": 0}
    assert environment.get_tool_metrics(state) == counts | calls
    assert environment.compute_reward(state).total_reward == 1.0


def test_a_rate_over_no_calls_is_no_data():
    state = answered(Calculator(), Task("1+1?", answer="2", data={"question": "1+1"}), "2")
    assert "tool_success_rate" not in Calculator().get_tool_metrics(state)


@pytest.mark.parametrize(
    "name, options, says",
    [
        ("countdwn", {}, "Did you mean 'countdown'"),
        ("countdown", {"nmbers": 3}, "does not take the options"),
        ("nosuch.module:Thing", {}, "cannot load"),
        ("rollscope.trainer.reward:RewardResult", {}, "is not a subclass of Environment"),
        ("nosuch.py:Thing", {}, "there is no file"),
    ],
)
def test_an_environment_that_cannot_be_loaded_is_answered_with_a_sentence(name, options, says):
    with pytest.raises(BadInput, match=says):
        environments.load(name, options)


def test_too_few_tasks_are_answered_with_a_sentence():
    with pytest.raises(BadInput, match=r"has only .* different eval tasks, 5000 were asked for"):
        environments.load("sorting", {"length": 1}).tasks("eval", 5000)
