"""PPO on Gymnasium: the same losses and advantages, with an action where a language model has a token.

A step: one episode in every environment -> GAE over their steps (the state an episode was cut off in is worth what the critic says)
-> a few epochs of clipped updates on shuffled episodes, actor and critic each with their own optimiser.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rollscope.catalog.partials.partial import Mean
from rollscope.record.run import Run
from rollscope.trainer import checkpoint, recording
from rollscope.trainer.backend import Optimiser, broken
from rollscope.trainer.config import Config
from rollscope.trainer.gym import Array, Episodes, VectorPlayer
from rollscope.trainer.orchestrator import Progress
from rollscope.trainer.policy.model import token_logps
from rollscope.trainer.timeline import Span, Timeline

from . import advantages as estimators
from . import losses


def network(inputs: int, outputs: int, width: int = 64) -> nn.Sequential:
    layers = [nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, outputs)]
    nn.init.zeros_(layers[-1].weight)  # type: ignore[arg-type]
    return nn.Sequential(*layers)


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

    def train(self, said: Callable[[Progress], object] = lambda _: None) -> None:
        limit, began = self.config.run.seconds, time.perf_counter()
        if self.step == 0:
            self.evaluate()
        while self.step < self.config.run.steps and not (limit and time.perf_counter() - began > limit):
            said(self.once())
        self.save()

    def once(self) -> Progress:
        start, step = time.perf_counter(), self.step
        with self.timeline.span("waiting_for_data", kind="wait", step=step):
            seed = 10_000 * (self.config.run.seed + 1) + step * self.player.count
            episodes = self.player.play(self.act, seed, lambda name: self.world.span(name, step=step))
        arrays = self.update(step, episodes)
        self.step, self.env_steps = step + 1, self.env_steps + int(episodes.mask.sum())
        self.record(step, episodes, arrays, start)
        every = self.config.evaluation.every
        score = self.evaluate() if every and (self.step % every == 0 or self.step == self.config.run.steps) else None
        if self.config.checkpoint.every and self.step % self.config.checkpoint.every == 0:
            self.save()
        return Progress(
            self.step,
            self.config.run.steps,
            float(episodes.returns.mean()),
            self.player.count,
            0,
            time.perf_counter() - start,
            score,
        )

    def update(self, step: int, episodes: Episodes) -> dict[str, Any]:
        algorithm = self.config.algorithm
        with self.timeline.span("prepare_tensors", step=step):
            data = {
                name: torch.from_numpy(np.asarray(getattr(episodes, name))).float()
                for name in ("observations", "logp", "values", "rewards", "mask")
            }
            actions, mask = torch.from_numpy(episodes.actions), data["mask"]
        with self.timeline.span("advantage", step=step):
            rewards = data["rewards"] * mask
            last = mask.sum(-1).long() - 1
            rewards[torch.arange(len(last)), last] += algorithm.gamma * torch.from_numpy(episodes.bootstrap).float()
            advantages, returns = estimators.gae(rewards, data["values"], mask, algorithm.gamma, algorithm.lam)
        fixed = {"old_logp": data["logp"], "advantages": advantages, "returns": returns, "old_values": data["values"]}
        last_pass = {name: torch.zeros_like(mask) for name in ("logp", "entropy", "values")}
        total: list[float] = []
        for epoch in range(algorithm.epochs):
            order = torch.randperm(len(mask), generator=self.random)
            for number, rows in enumerate(order.chunk(algorithm.minibatches)):
                total.append(
                    self.minibatch(
                        step,
                        epoch * algorithm.minibatches + number,
                        rows,
                        data["observations"],
                        actions,
                        mask,
                        fixed,
                        last_pass,
                    )
                )
        arrays = (
            fixed
            | last_pass
            | {"action_mask": mask, "mask": mask, "rollout_logp": data["logp"], "token_rewards": data["rewards"] * mask}
        )
        return {name: value.detach().numpy() for name, value in arrays.items()} | {"loss": float(np.mean(total))}

    def minibatch(
        self,
        step: int,
        number: int,
        rows: Tensor,
        seen: Tensor,
        actions: Tensor,
        mask: Tensor,
        fixed: dict[str, Tensor],
        last: dict[str, Tensor],
    ) -> float:
        algorithm = self.config.algorithm
        with self.timeline.span("forward", step=step, minibatch=number, microbatch=0):
            logits, values = self.actor(seen[rows]), self.critic(seen[rows]).squeeze(-1)
        with self.timeline.span("compute_entropy", step=step, minibatch=number, microbatch=0):
            logp, entropy = token_logps(logits, actions[rows])
        with self.timeline.span("loss", step=step, minibatch=number, microbatch=0):
            x = losses.log_ratio(logp, fixed["old_logp"][rows], "token", mask[rows])
            policy = losses.clipped_policy_loss(
                x, fixed["advantages"][rows], algorithm.clip_low, algorithm.clip_high, algorithm.clip_c or None
            )
            value = losses.value_loss(
                values, fixed["old_values"][rows], fixed["returns"][rows], mask[rows], algorithm.value_clip
            )
            loss = (
                losses.aggregate(policy, mask[rows], algorithm.loss_agg)
                - algorithm.entropy_coef * losses.aggregate(entropy, mask[rows])
                + value
            )
        with self.timeline.span("backward", step=step, minibatch=number, microbatch=0):
            torch.autograd.backward(broken(loss, self.config.failure.faults, step))
        with self.timeline.span("optimizer", step=step, minibatch=number):
            self.actor_optimiser.step()
            self.critic_optimiser.step()
        last["logp"][rows], last["entropy"][rows], last["values"][rows] = (
            logp.detach(),
            entropy.detach(),
            values.detach(),
        )
        return loss.item()

    def record(self, step: int, episodes: Episodes, arrays: dict[str, Any], start: float) -> None:
        algorithm = self.config.algorithm
        seconds = self.world.lap() | self.timeline.lap() | {"step": time.perf_counter() - start}
        batch = arrays | episodes.summary() | {
            "logp_level": "action", "env": self.player.id, "reward": episodes.returns, "score": episodes.returns, "task": [f"{self.player.id}"] * self.player.count,
            "clip_low": algorithm.clip_low, "clip_high": algorithm.clip_high, "value_clip": algorithm.value_clip, "entropy_coef": algorithm.entropy_coef,
            "lr": self.actor_optimiser.lr, "grad_norm": self.actor_optimiser.lap(), "critic_lr": self.critic_optimiser.lr,
            "critic_grad_norm": self.critic_optimiser.lap(), "seconds": seconds, "loss_agg": algorithm.loss_agg, "policy_version_now": step,
            "policy_version_min": np.full(self.player.count, float(step)),
        }  # fmt: skip
        self.run.log_batch(batch, step=step)
        self.run.log(
            {"env/step_reward": Mean(float((episodes.rewards * episodes.mask).sum()), float(episodes.mask.sum()))},
            step=step,
        )
        self.run.log_samples(
            step=step, samples=[self.told(step, i, episodes, arrays, "train") for i in range(self.player.count)]
        )
        self.run.commit(step, env_steps=self.env_steps, samples=(step + 1) * self.player.count, policy_version=step)

    def told(self, step: int, i: int, episodes: Episodes, arrays: dict[str, Any], split: str) -> dict[str, Any]:
        """An episode as a sample: its actions are its text."""
        length = int(episodes.length[i])
        summary = {name: float(value[i]) for name, value in episodes.summary().items()}
        actions = [self.player.letters[a % len(self.player.letters)] for a in episodes.actions[i, :length]]
        kept = {column: arrays[key][i, :length] for key, column in recording.KEPT.items() if key in arrays}
        return {
            "id": f"{split}.{step}.{i}", "task": self.player.id, "group": f"{split}.{step}", "repeat": i, "env": self.player.id, "split": split, "step": step,
            "prompt": f"{self.player.id}, first sees {np.round(episodes.observations[i, 0], 2).tolist()}", "completion": "".join(actions), "tokens": actions,
            "reward": float(episodes.returns[i]), "score": float(episodes.returns[i]), "sample_metrics": summary, "completion_tokens": length,
            "action_mask": [1] * length, "token_ids": episodes.actions[i, :length], "stop_reason": "stop", "trained": True if split == "train" else None,
            "policy_version_min": step, "policy_version_max": step, **kept,
        }  # fmt: skip

    def evaluate(self) -> float:
        """The most likely action in one episode per environment, always the same episodes."""
        seen: list[Span] = []
        timeline = Timeline("eval/0", seen.append)
        with timeline.span("evaluate", step=self.step):
            episodes = self.player.play(
                lambda x: self.act(x, greedy=True), 999_000, lambda name: timeline.span(name, step=self.step)
            )
        recording.spans(self.run, [span for span in seen if span.name == "evaluate"])
        summary = episodes.summary()
        scores = [
            {"return": float(summary["episode_return"][i])}
            | {k: float(v[i]) for k, v in summary.items() if k.startswith("success")}
            for i in range(self.player.count)
        ]
        rows = [{"task": f"seed {i}", "repeat": 0, "scores": row, "failed": False} for i, row in enumerate(scores)]
        self.run.log_eval(self.config.evaluation.name or "gym-eval", step=self.step, results=rows)
        return float(summary.get("success_once", summary["episode_return"]).mean())

    def save(self) -> None:
        with self.timeline.span("save_checkpoint", step=self.step):
            parts = {"actor": self.actor.state_dict(), "critic": self.critic.state_dict()}
            optimisers = {
                "actor_optimiser": self.actor_optimiser.state(),
                "critic_optimiser": self.critic_optimiser.state(),
            }
            checkpoint.save(
                self.run.folder,
                parts
                | optimisers
                | {"random": self.random.get_state(), "step": self.step, "env_steps": self.env_steps},
            )

    def load(self, state: dict[str, Any]) -> None:
        self.actor.load_state_dict(state["actor"])
        self.critic.load_state_dict(state["critic"])
        self.actor_optimiser.load(state["actor_optimiser"])
        self.critic_optimiser.load(state["critic_optimiser"])
        self.random.set_state(state["random"])
        self.step, self.env_steps = state["step"], state["env_steps"]
