"""Make pairs of the policy's own answers: the better one is chosen, the worse one rejected.

The chosen answer is the best of the policy's answers and the teacher's.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from rollscope.errors import BadInput
from rollscope.trainer import interrupts
from rollscope.trainer.config import Config
from rollscope.trainer.environment import Environment, State, Task, Turn
from rollscope.trainer.policy import tokenizer
from rollscope.trainer.policy.model import Transformer
from rollscope.trainer.rollouts.player import Player, Request, Sample
from rollscope.trainer.timeline import Timeline

Pair = tuple[Sample, Sample]  # chosen, rejected
TASKS = 64  # that are answered together


def make_pairs(
    policy: Transformer, environments: Mapping[str, Environment], tasks: Sequence[Task], config: Config, split: str
) -> list[Pair]:
    """At most one pair per task. A task whose answers all have the same reward gives none."""
    for environment in environments.values():
        if environment.max_turns != 1:
            raise BadInput(
                f"{config.algorithm.name} makes pairs of single answers;"
                f" {environment.name} takes {environment.max_turns} turns. Use countdown or sorting"
            )
    player = Player(policy, environments, Timeline("inference/0", lambda _: None))
    rng = random.Random(f"pairs {config.run.seed}")
    rollout, pairs = config.rollout, []
    for start in range(0, len(tasks), TASKS):
        interrupts.check()
        groups = [(f"{split}-pair-{start + i}", task) for i, task in enumerate(tasks[start : start + TASKS])]
        seed = config.run.seed + start
        samples = player.play(
            Request(groups, rollout.repeats, rollout.max_completion_tokens, rollout.temperature, seed)
        )
        player.score(samples)
        for i in range(0, len(samples), rollout.repeats):
            answers = [*samples[i : i + rollout.repeats], _teacher_sample(player, samples[i], rng)]
            ranked = sorted((s for s in answers if s.result is not None), key=lambda s: s.reward)
            if len(ranked) > 1 and ranked[-1].reward > ranked[0].reward:
                pairs.append((ranked[-1], ranked[0]))
    return pairs


def _teacher_sample(player: Player, like: Sample, rng: random.Random) -> Sample:
    """The teacher's answer to the same task, scored."""
    text = player.environments[like.env].demonstrate(State(like.task), rng)
    ids = [*tokenizer.encode(text), tokenizer.EOS]
    sample = Sample(
        id=f"{like.group}.taught",
        group=like.group,
        repeat=-1,
        env=like.env,
        state=State(like.task, [Turn("assistant", text, len(ids), stop_reason="stop")]),
        prompt_ids=like.prompt_ids,
        ids=ids,
        action_mask=[1] * len(ids),
        rollout_logp=[0.0] * len(ids),
        stop_reason="stop",
    )
    player.score([sample])
    return sample
