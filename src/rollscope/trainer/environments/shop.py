"""Shop: read a question, look up prices, add them up with a tool, and answer in a sentence.

For `Anna buys 3 apples and 2 pears. What does she pay?` the policy writes
`[price(apples)][price(pears)]`, reads `{4}{5}`, writes `[calc(3*4+2*5)]`, reads `{22}` and answers
`She pays 22 coins.`
"""

from __future__ import annotations

import random

from rollscope.trainer.environment import State, Task, ToolEnvironment
from rollscope.trainer.reward import RewardResult

from .countdown import value

PRICES = {"apples": 4, "pears": 5, "plums": 3, "eggs": 2, "rolls": 6, "nuts": 8, "leeks": 7, "limes": 9}
PEOPLE = {"Anna": "she", "Boris": "he", "Clara": "she", "David": "he", "Elif": "she", "Felix": "he"}
LOOKED_UP, TOTAL = 0.3, 0.7  # what a lookup of every price and a right total are worth


def price(arguments: str) -> str:
    if arguments not in PRICES:
        raise ValueError(f"no {arguments}")
    return str(PRICES[arguments])


def calc(arguments: str) -> str:
    total = value(arguments)
    if total is None:
        raise ValueError("not a sum")
    return str(total)


class Shop(ToolEnvironment):
    name = "shop"
    reward_min = 0.0
    reward_max = LOOKED_UP + TOTAL
    metrics_ranges = {"accuracy": (0.0, 1.0), "looked_up": (0.0, 1.0), "tool_success_rate": (0.0, 1.0)}
    tools = (price, calc)
    max_turns = 4

    def __init__(self, largest: int = 5, skill: float = 0.6) -> None:
        """`skill` is the share of the teacher's turns that are right."""
        self.largest, self.skill = largest, skill

    def draw(self, rng: random.Random) -> Task:
        person, goods = rng.choice(list(PEOPLE)), rng.sample(list(PRICES), 2)
        basket = {name: rng.randint(2, self.largest) for name in goods}
        bought = " and ".join(f"{count} {name}" for name, count in basket.items())
        total = sum(count * PRICES[name] for name, count in basket.items())
        prompt = f"{person} buys {bought}. What does {PEOPLE[person]} pay?"
        return Task(prompt, answer=str(total), data={"basket": basket, "pronoun": PEOPLE[person].capitalize()})

    def demonstrate(self, state: State, rng: random.Random) -> str:
        basket, right = state.task.data["basket"], rng.random() < self.skill
        if not state.calls:
            asked = list(basket) if right else rng.sample(list(basket), 1)
            return "".join(f"[price({name})]" for name in asked)
        if not any(call.tool == "calc" for call in state.calls):
            known = [name for name in basket if right or rng.random() < 0.5] or list(basket)
            return f"[calc({'+'.join(f'{basket[name]}*{PRICES[name]}' for name in known)})]"
        read = state.calls[-1].content.strip("{}")
        total = read if right or rng.random() < 0.5 else str(rng.randint(10, 60))
        return f"{state.task.data['pronoun']} pays {total} coins."

    def compute_reward(self, state: State) -> RewardResult:
        basket = state.task.data["basket"]
        prices = {call.arguments: call.content.strip("{}") for call in state.calls if call.tool == "price" and call.ok}
        looked_up = sum(name in prices for name in basket) / len(basket)
        said = "".join(character for character in state.last if character.isdigit())
        right = float(said == state.task.answer)
        receipt = [{"item": name, "count": count, "price": prices.get(name)} for name, count in basket.items()]
        metrics = {"accuracy": right, "looked_up": looked_up, "said": state.last, "receipt": receipt}
        rewards = {"lookup": LOOKED_UP * looked_up, "total": TOTAL * right}
        return RewardResult(sum(rewards.values()), metrics, rewards=rewards, answer=said)
