"""From a configuration to a finished run: builds the parts, runs the loop, and says in a sentence why it ended if it did not end well."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rollscope.errors import BadInput, MissingExtra, RollscopeError

try:
    import torch
except ImportError:  # the one place that says so
    raise MissingExtra("torch", "train", "training") from None

from rollscope.record.run import Run, init
from rollscope.trainer.algorithms.advantages import NORMALISATION
from rollscope.trainer.algorithms.dpo import Dpo
from rollscope.trainer.algorithms.grpo import Grpo
from rollscope.trainer.algorithms.ppo import Ppo
from rollscope.trainer.algorithms.reward_model import RewardModel
from rollscope.trainer.policy.model import Transformer, parameters
from rollscope.trainer.policy.warmup import warm_up
from rollscope.trainer.rollouts.workers import Inline, Pool, Processes, WorkerSpec, flat

from . import checkpoint, environments, recording
from .backend import Backend
from .config import Config, as_table
from .environment import Environment, Task
from .evals import Evaluator
from .orchestrator import Orchestrator, Progress
from .preference import PreferenceLoop
from .timeline import Timeline

BACKENDS: dict[str, type[Backend]] = {"grpo": Grpo, "ppo": Ppo, "dpo": Dpo, "reward_model": RewardModel}


class OutOfMemory(RollscopeError):
    status = 500


Said = Callable[[Progress], object]
Warming = Callable[[int, int, float], object]  # step, steps, loss
Go = Callable[[Run, bool, Said, Warming], None]


def train(
    config: Config,
    dir: str | Path | None = None,
    resume: str | None = None,
    said: Said = lambda _: None,
    warming: Warming = lambda *_: None,
) -> str:
    """Run it to its end; the run's id. What goes wrong is raised, after the run was marked with it."""
    torch.set_num_threads(config.run.threads)
    torch.manual_seed(config.run.seed)
    prepare = _embodied if config.environment.name == "gym" else _spoken
    go = prepare(config)  # what is wrong with the configuration is said before a run exists
    if resume:
        checkpoint.find(Path(dir or os.environ.get("ROLLSCOPE_DIR") or "runs") / resume)
    with start(config, dir, resume) as run:
        try:
            go(run, bool(resume), said, warming)
        except (MemoryError, torch.OutOfMemoryError) as error:
            raise OutOfMemory(
                f"out of memory: {str(error).splitlines()[0] if str(error) else 'no more to be had'}. Lower algorithm.microbatch or the model"
            ) from error
    return run.id


def start(config: Config, dir: str | Path | None, resume: str | None) -> Run:
    advantage = "gae" if config.algorithm.name == "ppo" else config.algorithm.advantage
    table = as_table(config)
    if not config.failure.name:
        table.pop("failure")  # nothing is broken, and nothing more is to be said about it
    if config.algorithm.name in ("grpo", "ppo"):
        table["algorithm"]["advantage_normalisation"] = NORMALISATION[advantage]
    more: dict[str, Any] = {"id": resume, "resume": True} if resume else {}
    name = config.run.name or f"{config.algorithm.name}-{config.environment.name.rsplit(':', 1)[-1]}-{config.run.seed}"
    return init(
        project=config.run.project, name=name, config=table, dir=dir, tags=config.run.tags, algorithm=config.algorithm.name, steps=config.run.steps, keep_tokens="all", **more
    )  # fmt: skip


def _spoken(config: Config) -> Go:
    """A language task: the policy writes text."""
    environment = environments.load(config.environment.name, config.environment.options)
    tasks = environment.tasks("train", config.environment.train_tasks, seed=config.run.seed)
    evaluate = Evaluator(config, environment, tasks)
    backend = (
        environments.named(config.algorithm.backend, Backend)
        if config.algorithm.backend
        else BACKENDS[config.algorithm.name]
    )

    def go(run: Run, resumed: bool, said: Said, warming: Warming) -> None:
        timeline = Timeline("trainer/0", lambda span: recording.spans(run, [span]))
        recording.declare(run, environment)
        policy = Transformer(config.model).to(_device(config.run.device))
        if not resumed:
            _warm(config, run, policy, environment, tasks, warming, timeline)
        _learn(config, run, backend(config, policy, timeline), environment, tasks, evaluate, timeline, resumed, said)

    return go


def _learn(
    config: Config,
    run: Run,
    backend: Backend,
    environment: Environment,
    tasks: list[Task],
    evaluate: Evaluator,
    timeline: Timeline,
    resumed: bool,
    said: Said,
) -> None:
    if config.algorithm.name in ("dpo", "reward_model"):
        loop = PreferenceLoop(config, run, backend, environment, tasks, evaluate, timeline)
        if resumed:
            loop.load(checkpoint.load(run.folder))
        loop.train(said)
        return
    pool = _pool(config, backend.policy)
    try:
        orchestrator = Orchestrator(config, run, backend, pool, tasks, evaluate, timeline)
        if resumed:
            orchestrator.load(checkpoint.load(run.folder))
        orchestrator.train(said)
    finally:
        pool.close()


def _warm(
    config: Config,
    run: Run,
    policy: Transformer,
    environment: Environment,
    tasks: list[Task],
    warming: Warming,
    timeline: Timeline,
) -> None:
    run.note(
        f"policy with {parameters(policy):,} parameters, warmed up for {config.warmup.steps} steps on {environment.name}"
    )

    def heard(step: int, loss: float, accuracy: float) -> None:
        warming(step + 1, config.warmup.steps, loss)

    if config.warmup.steps:
        with timeline.span("warm_up", step=0):
            warm_up(policy, environment, tasks, config.warmup, config.run.seed, heard)


def _pool(config: Config, policy: Transformer) -> Pool:
    device = str(policy.device)
    spec = WorkerSpec(config.model, config.environment.name, config.environment.options, config.failure.faults, device)
    return Processes(spec, config.rollout.workers, flat(policy)) if config.rollout.workers else Inline(spec)


def _device(name: str) -> str:
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def _embodied(config: Config) -> Go:
    """A Gymnasium environment: the policy acts."""
    if config.algorithm.name != "ppo":
        raise BadInput(f"algorithm.name = {config.algorithm.name!r} does not act in Gymnasium environments: use 'ppo'")
    try:
        from rollscope.trainer.algorithms.embodied import EmbodiedLoop

        from .gym import VectorPlayer
    except ImportError:
        raise MissingExtra("gymnasium", "train", "training in Gymnasium environments") from None
    options = dict(config.environment.options)
    player = VectorPlayer(options.pop("id", "rollscope/Reach-v0"), options.pop("envs", 16), options)

    def go(run: Run, resumed: bool, said: Said, warming: Warming) -> None:
        timeline = Timeline("trainer/0", lambda span: recording.spans(run, [span]))
        try:
            loop = EmbodiedLoop(config, run, player, timeline)
            if resumed:
                loop.load(checkpoint.load(run.folder))
            loop.train(said)
        finally:
            player.close()

    return go
