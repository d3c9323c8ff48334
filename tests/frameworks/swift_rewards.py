"""Rewards and a scheduler of turns for `swift_run.py`, as a user writes them for ms-swift."""

from __future__ import annotations

from typing import Any

from swift.rewards import ORM, orms
from swift.rollout import MultiTurnScheduler, multi_turns

CALL = '<tool_call>{"name": "sum", "arguments": {"a": 2}}</tool_call>'


class Digit(ORM):
    def __call__(self, completions: list[str], **_: Any) -> list[float]:
        return [sum(c.isdigit() for c in text) / max(1, len(text)) for text in completions]


class Brevity(ORM):
    """Nothing for a text of an even length."""

    def __call__(self, completions: list[str], **_: Any) -> list[float | None]:
        return [-len(text) / 24 if len(text) % 2 else None for text in completions]


class Rare(ORM):
    """1 for few answers, so that most groups have no spread."""

    def __call__(self, completions: list[str], **_: Any) -> list[float]:
        return [float(text[:1].isdigit()) for text in completions]


class Asks(MultiTurnScheduler):
    """The first answer is made to call a tool, whose result follows; the second ends it."""

    def check_finished(self, infer_request: Any, response_choice: Any, current_turn: int) -> bool:
        return current_turn >= 2

    def step(self, infer_request: Any, response_choice: Any, current_turn: int) -> dict[str, Any]:
        wrote, call = list(response_choice.token_ids), self.tokenizer.encode(CALL)
        infer_request.messages[-1]["content"] += CALL
        infer_request.messages.append({"role": "tool", "content": "4"})
        known = {"response_token_ids": wrote + call, "response_loss_mask": [1] * len(wrote) + [0] * len(call)}
        return {"infer_request": infer_request, **known}


orms.update({"digit": Digit, "brevity": Brevity, "rare": Rare})
multi_turns["asks"] = Asks
