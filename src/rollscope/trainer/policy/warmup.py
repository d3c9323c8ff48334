"""The supervised warm-up: a few hundred steps of imitating a fallible teacher.

Afterwards the policy knows the format and has something to explore from.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
import torch.nn.functional as F

from rollscope.trainer import interrupts
from rollscope.trainer.config import WarmupConfig
from rollscope.trainer.environment import Environment, State, Task, Turn
from rollscope.trainer.environments.mix import Mix
from rollscope.trainer.rollouts.sample import pad

from . import tokenizer
from .model import Transformer


def transcript(environment: Environment, task: Task, rng: random.Random) -> tuple[list[int], list[int]]:
    """A task played by the teacher: token ids, and 1 where the teacher wrote the token."""
    state = State(task)
    ids = [tokenizer.BOS, *tokenizer.encode(task.prompt)]
    taught = [0] * len(ids)
    for _ in range(environment.max_turns):
        text = environment.demonstrate(state, rng)
        written = [*tokenizer.encode(text), tokenizer.EOS]
        ids, taught = ids + written, taught + [1] * len(written)
        state.turns.append(Turn("assistant", text, len(written)))
        turns = environment.respond(state)
        if turns is None:
            break
        for turn in turns:
            state.turns.append(turn)
            read = tokenizer.encode(turn.content)
            ids, taught = ids + read, taught + [0] * len(read)
    return ids, taught


def warm_up(
    model: Transformer,
    mix: Mix,
    config: WarmupConfig,
    seed: int,
    on_step: Callable[[int, float, float], object],
) -> None:
    """Train `model` in place and call `on_step(step, loss, accuracy)` after each step.

    Loss and accuracy are means over the teacher's tokens.
    """
    rng = random.Random(f"warm-up {seed}")
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.95), weight_decay=0.01)
    for step in range(config.steps):
        interrupts.check()
        for group in optimiser.param_groups:
            group["lr"] = config.lr * min(1.0, (step + 1) / 20) * max(0.1, 1 - step / config.steps)
        tasks = (mix.any_task(rng) for _ in range(config.batch))
        rows = [transcript(mix.environments[task.env], task, rng) for task in tasks]
        ids = pad([row[: model.config.context] for row, _ in rows]).to(model.device)
        taught = pad([mask[: model.config.context] for _, mask in rows]).to(model.device)[:, 1:].bool()
        logits = model(ids[:, :-1])[taught]
        target = ids[:, 1:][taught]
        loss = F.cross_entropy(logits, target)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        on_step(step, loss.item(), (logits.argmax(-1) == target).float().mean().item())
