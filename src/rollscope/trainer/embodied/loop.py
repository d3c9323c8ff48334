"""PPO on Gymnasium.

A step plays one episode in every environment, computes GAE over its steps (a state in which an
episode was truncated is worth what the critic says), and makes a few epochs of clipped updates on
shuffled episodes. Actor and critic each have their own optimiser.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rollscope.catalog.partials.partial import Mean
from rollscope.record.run import Run
from rollscope.trainer import checkpoint, interrupts, recording
from rollscope.trainer.algorithms import advantages as estimators
from rollscope.trainer.algorithms import losses
from rollscope.trainer.backend import Optimiser, with_fault
from rollscope.trainer.config import Config
from rollscope.trainer.limit import Limit
from rollscope.trainer.policy.model import token_logps
from rollscope.trainer.progress import OnStep, Progress, ignore
from rollscope.trainer.timeline import Span, Timeline

from .player import Array, Episodes, VectorPlayer

EVAL_SEED = 999_000


def network(inputs: int, outputs: int, width: int = 64) -> nn.Sequential:
    layers = [nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, outputs)]
    nn.init.zeros_(layers[-1].weight)  # type: ignore[arg-type]
    return nn.Sequential(*layers)


@dataclass(slots=True)
class Targets:
    """Tensors `[B, T]` that are fixed before the first minibatch, and the inputs they belong to."""

    observations: Tensor
    actions: Tensor
    mask: Tensor
    rewards: Tensor
    old_logp: Tensor
    old_values: Tensor
    advantages: Tensor
    returns: Tensor


class EmbodiedLoop:
    def __init__(self, config: Config, run: Run, player: VectorPlayer, timeline: Timeline) -> None:
        self.config, self.run, self.player, self.timeline = config, run, player, timeline
        self.world = Timeline("inference/0", lambda span: recording.spans(run, [span]))
        self.actor, self.critic = network(player.observations, player.actions), network(player.observations, 1)
        self.actor_optimiser = Optimiser(self.actor, config.optimiser.lr, config)
        self.critic_optimiser = Optimiser(self.critic, config.optimiser.critic_lr, config)
        self.random = torch.Generator().manual_seed(config.run.seed)
        self.step = self.env_steps = 0

    @torch.no_grad()
    def act(self, observations: Array, greedy: bool = False) -> tuple[Array, Array, Array]:
        x = torch.from_numpy(observations)
        logp = torch.log_softmax(self.actor(x), -1)
        action = logp.argmax(-1) if greedy else torch.multinomial(logp.exp(), 1, generator=self.random)[:, 0]
        return action.numpy(), logp.gather(-1, action[:, None])[:, 0].numpy(), self.critic(x)[:, 0].numpy()

    def train(self, on_step: OnStep = ignore) -> None:
        if self.step == 0:
            self.evaluate()
        limit = Limit(self.run, self.config.run)
        while self.step < self.config.run.steps and not limit.reached:
            interrupts.check()
            on_step(limit.look(self.train_step()))
        self.save()

    def train_step(self) -> Progress:
        start, step, steps = time.perf_counter(), self.step, self.config.run.steps
        with self.timeline.span("waiting_for_data", kind="wait", step=step):
            seed = 10_000 * (self.config.run.seed + 1) + step * self.player.count
            episodes = self.player.play(self.act, seed, lambda name: self.world.span(name, step=step))
        arrays = self.update(step, episodes)
        self.step, self.env_steps = step + 1, self.env_steps + int(episodes.mask.sum())
        self.record(step, episodes, arrays, start)
        every = self.config.evaluation.every
        score = self.evaluate() if every and (self.step % every == 0 or self.step == steps) else None
        if self.config.checkpoint.every and self.step % self.config.checkpoint.every == 0:
            self.save()
        mean, seconds = float(episodes.returns.mean()), time.perf_counter() - start
        return Progress(self.step, steps, mean, self.player.count, 0, seconds, score)

    def update(self, step: int, episodes: Episodes) -> dict[str, Any]:
        """Update actor and critic; return the arrays that the catalogue computes metrics from."""
        algorithm = self.config.algorithm
        targets = self.targets(step, episodes)
        last = {name: torch.zeros_like(targets.mask) for name in ("logp", "entropy", "values")}
        total: list[float] = []
        for epoch in range(algorithm.epochs):
            order = torch.randperm(len(targets.mask), generator=self.random)
            for i, rows in enumerate(order.chunk(algorithm.minibatches)):
                interrupts.check()
                total.append(self.minibatch(step, epoch * algorithm.minibatches + i, rows, targets, last))
        fixed = ("old_logp", "advantages", "returns", "old_values")
        arrays = {name: getattr(targets, name) for name in fixed} | last
        arrays |= {"action_mask": targets.mask, "mask": targets.mask, "rollout_logp": targets.old_logp}
        arrays |= {"token_rewards": targets.rewards * targets.mask}
        return {name: value.detach().numpy() for name, value in arrays.items()} | {"loss": float(np.mean(total))}

    def targets(self, step: int, episodes: Episodes) -> Targets:
        algorithm = self.config.algorithm
        with self.timeline.span("prepare_tensors", step=step):
            names = ("observations", "mask", "rewards", "logp", "values")
            tensors = (torch.from_numpy(np.asarray(getattr(episodes, name))).float() for name in names)
            observations, mask, rewards, logp, values = tensors
            actions = torch.from_numpy(episodes.actions)
        with self.timeline.span("advantage", step=step):
            bootstrapped = rewards * mask
            last = mask.sum(-1).long() - 1
            bootstrap = algorithm.gamma * torch.from_numpy(episodes.bootstrap).float()
            bootstrapped[torch.arange(len(last)), last] += bootstrap
            advantages, returns = estimators.gae(bootstrapped, values, mask, algorithm.gamma, algorithm.lam)
        return Targets(observations, actions, mask, rewards, logp, values, advantages, returns)

    def minibatch(self, step: int, number: int, rows: Tensor, targets: Targets, last: dict[str, Tensor]) -> float:
        """One optimiser step of actor and critic; return the loss."""
        labels: dict[str, Any] = {"step": step, "minibatch": number, "microbatch": 0}
        with self.timeline.span("forward", **labels):
            seen = targets.observations[rows]
            logits, values = self.actor(seen), self.critic(seen).squeeze(-1)
        with self.timeline.span("compute_entropy", **labels):
            logp, entropy = token_logps(logits, targets.actions[rows])
        with self.timeline.span("loss", **labels):
            loss = self.loss(rows, targets, logp, entropy, values)
        with self.timeline.span("backward", **labels):
            torch.autograd.backward(with_fault(loss, self.config.failure.faults, step))
        with self.timeline.span("optimizer", step=step, minibatch=number):
            self.actor_optimiser.step()
            self.critic_optimiser.step()
        for name, value in (("logp", logp), ("entropy", entropy), ("values", values)):
            last[name][rows] = value.detach()
        return loss.item()

    def loss(self, rows: Tensor, targets: Targets, logp: Tensor, entropy: Tensor, values: Tensor) -> Tensor:
        algorithm, mask = self.config.algorithm, targets.mask[rows]
        x = losses.log_ratio(logp, targets.old_logp[rows], "token", mask)
        clips = (algorithm.clip_low, algorithm.clip_high, algorithm.clip_c or None)
        policy = losses.clipped_policy_loss(x, targets.advantages[rows], *clips)
        old_values, returns = targets.old_values[rows], targets.returns[rows]
        value = losses.value_loss(values, old_values, returns, mask, algorithm.value_clip)
        bonus = algorithm.entropy_coef * losses.aggregate(entropy, mask)
        return losses.aggregate(policy, mask, algorithm.loss_agg) - bonus + value

    def record(self, step: int, episodes: Episodes, arrays: dict[str, Any], start: float) -> None:
        count = self.player.count
        seconds = self.world.lap() | self.timeline.lap() | {"step": time.perf_counter() - start}
        self.run.log_batch(arrays | self._facts(step, episodes) | {"seconds": seconds}, step=step)
        rewards = Mean(float((episodes.rewards * episodes.mask).sum()), float(episodes.mask.sum()))
        self.run.log({"env/step_reward": rewards}, step=step)
        samples = [self._sample(step, i, episodes, arrays, "train") for i in range(count)]
        self.run.log_samples(step=step, samples=samples)
        self.run.commit(step, env_steps=self.env_steps, samples=(step + 1) * count, policy_version=step)

    def _facts(self, step: int, episodes: Episodes) -> dict[str, Any]:
        """The keys of the batch that are not token arrays."""
        algorithm, count = self.config.algorithm, self.player.count
        return episodes.summary() | {
            "logp_level": "action",
            "env": self.player.id,
            "reward": episodes.returns,
            "score": episodes.returns,
            "sample": [f"train.{step}.{i}" for i in range(count)],
            "task": [self.player.id] * count,
            "group": [f"train.{step}"] * count,
            "trained": np.ones(count),
            "clip_low": algorithm.clip_low,
            "clip_high": algorithm.clip_high,
            "value_clip": algorithm.value_clip,
            "entropy_coef": algorithm.entropy_coef,
            "lr": self.actor_optimiser.lr,
            "scheduler": self.actor_optimiser.schedule,
            "grad_norm": self.actor_optimiser.lap(),
            "critic_lr": self.critic_optimiser.lr,
            "critic_grad_norm": self.critic_optimiser.lap(),
            "loss_agg": algorithm.loss_agg,
            "policy_version_now": step,
            "policy_version_min": np.full(count, float(step)),
        }

    def _sample(self, step: int, i: int, episodes: Episodes, arrays: dict[str, Any], split: str) -> dict[str, Any]:
        """An episode as a sample; its actions are its text."""
        id, length = self.player.id, int(episodes.length[i])
        actions = [self.player.letters[a % len(self.player.letters)] for a in episodes.actions[i, :length]]
        return {
            "id": f"{split}.{step}.{i}",
            "task": id,
            "group": f"{split}.{step}",
            "repeat": i,
            "env": id,
            "split": split,
            "step": step,
            "prompt": f"{id}, first sees {np.round(episodes.observations[i, 0], 2).tolist()}",
            "completion": "".join(actions),
            "tokens": actions,
            "reward": float(episodes.returns[i]),
            "score": float(episodes.returns[i]),
            "sample_metrics": {name: float(value[i]) for name, value in episodes.summary().items()},
            "completion_tokens": length,
            "action_mask": [1] * length,
            "token_ids": episodes.actions[i, :length],
            "stop_reason": "stop",
            "trained": True if split == "train" else None,
            "policy_version_min": step,
            "policy_version_max": step,
            **recording.token_columns(arrays, i, length),
        }

    def evaluate(self) -> float:
        """Play the same episodes each time, one per environment, with the most likely actions."""
        spans: list[Span] = []
        timeline = Timeline("eval/0", spans.append)
        with timeline.span("evaluate", step=self.step):
            episodes = self.player.play(
                lambda x: self.act(x, greedy=True), EVAL_SEED, lambda name: timeline.span(name, step=self.step)
            )
        recording.spans(self.run, [span for span in spans if span.name == "evaluate"])
        summary = episodes.summary()
        columns = {"return": summary["episode_return"]}
        columns |= {name: values for name, values in summary.items() if name.startswith("success")}
        scores = [{name: float(values[i]) for name, values in columns.items()} for i in range(self.player.count)]
        rows = [{"task": f"seed {i}", "repeat": 0, "scores": row, "failed": False} for i, row in enumerate(scores)]
        how = self.config.evaluation
        self.run.log_eval(
            how.name or "gym-eval", step=self.step, results=rows, prefix=how.prefix, detailed=how.detailed
        )
        return float(summary.get("success_once", summary["episode_return"]).mean())

    def save(self) -> None:
        with self.timeline.span("save_checkpoint", step=self.step):
            checkpoint.save(self.run.folder, self.state())

    def state(self) -> dict[str, Any]:
        return {
            "actor": self.actor.state_dict(),
            "critic": self.critic.state_dict(),
            "actor_optimiser": self.actor_optimiser.state(),
            "critic_optimiser": self.critic_optimiser.state(),
            "random": self.random.get_state(),
            "step": self.step,
            "env_steps": self.env_steps,
        }

    def load(self, state: dict[str, Any]) -> None:
        self.actor.load_state_dict(state["actor"])
        self.critic.load_state_dict(state["critic"])
        self.actor_optimiser.load(state["actor_optimiser"])
        self.critic_optimiser.load(state["critic_optimiser"])
        self.random.set_state(state["random"])
        self.step, self.env_steps = state["step"], state["env_steps"]
