"""Run RLinf's embodied runner and environment workers, with Rollscope: `... OUT [FAULT...]`

Runs in veRL's environment with RLinf beside it. Cluster, workers, runner, rounds of episodes, video
recorder, metrics and loggers are RLinf's; the environment, the actions and the weights are
scripted, and workers are processes of Ray. What each environment worker returned is written to
`OUT/held.json`. For each fault there is a further training in `OUT/FAULT`, in which our code fails
in the driver and in the workers; in `fields`, environments say less than our code reads.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import gymnasium
import numpy as np
import torch
from omegaconf import OmegaConf
from rlinf.data.embodied_io_struct import RolloutResult
from rlinf.scheduler import Cluster, NodePlacementStrategy, Worker
from rlinf.workers.env import env_worker

STEPS, RANKS, STAGES, ENVS, EPOCHS, CHUNKS = 2, 2, 2, 4, 2, 3
MODE = "RLINF_RUN_MODE"  # names a file with the fault of the training that begins


def mode() -> str:
    """The fault of this training."""
    with open(os.environ[MODE]) as file:
        return file.read()


def register() -> None:
    """RLinf calls this in every worker: it breaks our code there, and then lets it begin."""
    import faults

    faults.install()
    faults.broken(mode(), os.path.dirname(os.environ[MODE])).__enter__()
    faults.FREE = 2_000  # less is written here than in other trainings
    from rollscope.sources.rlinf.worker import register as ours

    ours()


class Reach(gymnasium.Env):  # type: ignore[misc]
    """Several arms side by side: arm i succeeds in some rounds, and the pictures get brighter."""

    def __init__(
        self, cfg: Any, num_envs: int, seed_offset: int, total_num_processes: int, worker_info: Any = None
    ) -> None:
        self.cfg, self.num_envs = cfg, num_envs
        self.seed = cfg.seed + seed_offset
        self.round, self.at = 0, 0
        self.lacking = mode() == "fields"

    def _obs(self) -> dict[str, Any]:
        images = np.full((self.num_envs, 32, 32, 3), 40 * self.at % 256, np.uint8)
        told = {} if self.lacking else {"task_descriptions": [f"reach {i // 2}" for i in range(self.num_envs)]}
        return {"main_images": torch.from_numpy(images), **told}

    def reset(self, *_: Any, **__: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        self.at = 0
        return self._obs(), {}

    def chunk_step(self, actions: Any) -> tuple[Any, ...]:
        self.at += 1
        done = torch.full((self.num_envs, 1), self.at == CHUNKS)
        success = torch.tensor([(i + self.seed + self.round) % 3 == 0 for i in range(self.num_envs)])
        episode = {"success_once": success, "episode_len": torch.full((self.num_envs,), self.at)}
        if not self.lacking:
            episode["return"] = success.float() * 2 - 0.25
        rewards = success.float().unsqueeze(1)
        return [self._obs()], rewards, torch.zeros_like(done), done, [{"episode": episode}]

    def update_reset_state_ids(self) -> None:
        self.round += 1


class ScriptedEnvWorker(env_worker.EnvWorker):  # type: ignore[misc]
    """RLinf's worker; what a rollout worker would send is made here."""

    def __init__(self, cfg: Any) -> None:
        env_worker.get_env_cls = lambda *_: Reach
        self.begun = 0
        super().__init__(cfg)

    def recv_from(self, **asked: Any) -> RolloutResult:
        ones = torch.ones(ENVS, 1)
        actions = torch.zeros(ENVS, 1, 7)
        return RolloutResult(actions=actions, prev_logprobs=ones, prev_values=ones, versions=ones * (self.begun - 1))

    async def _run_interact_once(self, *args: Any, **kwargs: Any) -> Any:
        self.begun += 1
        return await super()._run_interact_once(*args, **kwargs)

    def send_to(self, **_: Any) -> None: ...

    def get_actor_split_num(self) -> int:
        return 1

    async def send_rollout_trajectories(self, rollout_result: Any, channel: Any) -> None: ...


class Still(Worker):  # type: ignore[misc]
    """Actor and rollout workers that do nothing."""

    def __init__(self, cfg: Any) -> None:
        super().__init__()
        self.version = 0

    def set_global_step(self, step: int) -> None:
        self.version = step

    def init_worker(self) -> None: ...
    def sync_model_to_rollout(self) -> None: ...
    def sync_model_from_actor(self) -> None: ...
    def recv_rollout_trajectories(self, input_channel: Any) -> None: ...
    def evaluate(self, input_channel: Any, output_channel: Any) -> None: ...

    @Worker.timer("predict")  # type: ignore[untyped-decorator]
    def generate(self, input_channel: Any, output_channel: Any) -> None:
        sum(range(10_000))

    def compute_advantages_and_returns(self) -> dict[str, float]:
        return {"rewards": 0.5}

    @Worker.timer("run_training")  # type: ignore[untyped-decorator]
    def run_training(self) -> dict[str, float]:
        return {"actor/policy_loss": 0.25}


def config(out: str) -> Any:
    env = {
        "env_type": "libero",
        "seed": 10,
        "auto_reset": False,
        "ignore_terminations": True,
        "group_size": 2,
        "total_num_envs": RANKS * STAGES * ENVS,
        "rollout_epoch": EPOCHS,
        "max_steps_per_rollout_epoch": CHUNKS,
        "max_episode_steps": CHUNKS,
    }
    video = {"save_video": True, "info_on_video": False, "fps": 5}
    logger = {"log_path": f"{out}/logs", "project_name": "p", "experiment_name": "e"}
    runner = {"weight_sync_interval": 1, "max_epochs": STEPS, "val_check_interval": 2, "save_interval": -1}
    return OmegaConf.create(
        {
            "cluster": {"num_nodes": 1, "component_placement": {"env,actor,rollout": "0"}},
            "runner": {
                "task_type": "embodied",
                "logger": {**logger, "logger_backends": ["tensorboard", "rollscope"]},
                **runner,
            },
            "algorithm": {"gamma": 0.99, "group_size": 2},
            "env": {
                name: {**env, "video_cfg": {**video, "video_base_dir": f"{out}/video/{name}"}}
                for name in ("train", "eval")
            },
            "rollout": {"pipeline_stage_num": STAGES, "group_name": "RolloutGroup"},
            "actor": {"seed": 1, "model": {"model_type": "openpi", "num_action_chunks": 1, "action_dim": 7}},
        }
    )


def train(out: str, cluster: Cluster, kind: str) -> None:
    from rlinf.runners.embodied_runner import EmbodiedRunner

    cfg, many = config(out), {"env": RANKS, "actor": 1, "rollout": 1}
    kinds = {"env": ScriptedEnvWorker, "actor": Still, "rollout": Still}
    groups = {
        name: kinds[name]
        .create_group(cfg)
        .launch(cluster, placement_strategy=NodePlacementStrategy([0] * count), name=f"{name}{kind}")
        for name, count in many.items()
    }
    runner = EmbodiedRunner(cfg, groups["actor"], groups["rollout"], groups["env"])
    held: list[Any] = []
    for kind in ("interact", "evaluate"):
        keep(groups["env"], kind, held)
    runner.init_workers()
    runner.run()
    with open(f"{out}/held.json", "w") as file:
        json.dump(held, file)
    for group in groups.values():
        group._close()


def keep(group: Any, kind: str, held: list[Any]) -> None:
    """Keep what the workers return."""
    call = getattr(group, kind)

    def called(**channels: Any) -> Any:
        handle = call(**channels)
        found = [{name: values.tolist() for name, values in one.items()} for one in handle.wait()]
        held.append({"kind": kind, "ranks": found})
        return handle

    setattr(group, kind, called)


def main(out: str, *modes: str) -> None:
    import faults

    os.environ |= {MODE: f"{out}/mode", "RAY_ADDRESS": "local"}
    faults.install()
    faults.FREE = 2_000
    import rollscope.sources.rlinf as source

    source.attach(host=False)
    os.environ["RLINF_EXT_MODULE"] = "rlinf_run"  # in place of ours, which it calls
    cluster = None
    for kind in ("", *modes):
        with open(f"{out}/mode", "w") as file:
            file.write(kind)
        cluster = cluster or Cluster(num_nodes=1)  # Ray begins here, with the variables above
        folder = os.path.join(out, kind)
        os.environ["ROLLSCOPE_DIR"] = f"{folder}/runs"
        with faults.broken(kind, f"{folder}/runs"):
            train(folder, cluster, kind)
        print(f"{kind} ended at step {STEPS}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    main(*sys.argv[1:])
