"""Train from a configuration: build the parts, start the run, run the loop.

If training fails, the run is marked with the reason and the error is raised.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rollscope.errors import BadInput, MissingExtra, RollscopeError

try:
    import torch
except ImportError:  # every command that trains comes through here
    raise MissingExtra("torch", "train", "training") from None

from rollscope.record.run import Run
from rollscope.record.start import init
from rollscope.trainer.algorithms.advantages import NORMALISATION
from rollscope.trainer.algorithms.dpo import Dpo
from rollscope.trainer.algorithms.grpo import Grpo
from rollscope.trainer.algorithms.ppo import Ppo
from rollscope.trainer.algorithms.reward_model import RewardModel
from rollscope.trainer.environments.mix import Mix
from rollscope.trainer.policy.model import Transformer, parameters
from rollscope.trainer.policy.warmup import warm_up
from rollscope.trainer.preferences.loop import PreferenceLoop
from rollscope.trainer.rollouts.workers import Inline, Pool, Processes, WorkerSpec, flat

from . import checkpoint, environments, interrupts, recording
from .backend import Backend
from .config import Config, as_table
from .evals import Evaluator
from .orchestrator import Orchestrator
from .progress import OnStep, ignore
from .timeline import Timeline

BACKENDS: dict[str, type[Backend]] = {"grpo": Grpo, "ppo": Ppo, "dpo": Dpo, "reward_model": RewardModel}


class OutOfMemory(RollscopeError):
    status = 500


OnWarmup = Callable[[int, int, float], object]  # step, steps, loss
Job = Callable[[Run, bool, OnStep, OnWarmup], None]  # run, resumed, listeners


def train(
    config: Config,
    dir: str | Path | None = None,
    resume: str | None = None,
    on_step: OnStep = ignore,
    on_warmup: OnWarmup = lambda *_: None,
) -> str:
    """Train to the end and return the run's id.

    Errors are raised after the run is marked with them.
    """
    torch.set_num_threads(config.run.threads)
    torch.manual_seed(config.run.seed)
    names = [environment.name for environment in config.trained_on]
    prepare = _prepare_embodied if "gym" in names else _prepare_language
    job = prepare(config)  # raises on a bad configuration before a run exists
    if resume:
        checkpoint.find(Path(dir or os.environ.get("ROLLSCOPE_DIR") or "runs") / resume)
    with interrupts.taken(), start(config, dir, resume) as run:
        try:
            job(run, bool(resume), on_step, on_warmup)
        except (MemoryError, torch.OutOfMemoryError) as error:
            reason = str(error).splitlines()[0] if str(error) else "no memory left"
            raise OutOfMemory(f"out of memory: {reason}. Lower algorithm.microbatch or the model") from error
    return run.id


def start(config: Config, dir: str | Path | None, resume: str | None) -> Run:
    """Start the run, or resume it, with its configuration."""
    algorithm, settings = config.algorithm, config.run
    table = as_table(config)
    if not config.failure.name:
        table.pop("failure")
    if algorithm.name in ("grpo", "ppo"):
        advantage = "gae" if algorithm.name == "ppo" else algorithm.advantage
        table["algorithm"]["advantage_normalisation"] = NORMALISATION[advantage]
    more: dict[str, Any] = {"id": resume, "resume": True} if resume else {}
    names = [environment.label or environment.name.rsplit(":", 1)[-1] for environment in config.trained_on]
    return init(
        project=settings.project,
        name=settings.name or f"{algorithm.name}-{'+'.join(names)}-{settings.seed}",
        config=table,
        dir=dir,
        tags=settings.tags,
        algorithm=algorithm.name,
        steps=settings.steps,
        keep_tokens="all",
        sinks=[tuple(sink) if isinstance(sink, list) else sink for sink in settings.sinks],
        dialect=settings.dialect or None,
        **more,
    )


def _prepare_language(config: Config) -> Job:
    """A language task: the policy writes text."""
    mix = Mix(config.trained_on, config.run.seed)
    evaluate = Evaluator(config, mix)
    kind: type[Backend] = BACKENDS[config.algorithm.name]
    if config.algorithm.backend:
        kind = environments.named(config.algorithm.backend, Backend)

    def job(run: Run, resumed: bool, on_step: OnStep, on_warmup: OnWarmup) -> None:
        links = recording.Links(run)
        timeline = Timeline("trainer/0", lambda span: links.record([span]), recording.announced(run))
        recording.declare(run, {**evaluate.environments, **mix.environments}.values(), kind.ranges)
        policy = Transformer(config.model).to(_device(config.run.device))
        if not resumed:
            _warm_up(config, run, policy, mix, on_warmup, timeline)
        backend = kind(config, policy, timeline)
        if config.algorithm.name in ("dpo", "reward_model"):
            loop = PreferenceLoop(config, run, backend, mix, evaluate, timeline)
            _run_loop(loop, run, resumed, on_step)
            return
        pool = _pool(config, policy)
        try:
            _run_loop(Orchestrator(config, run, backend, pool, mix, evaluate, timeline, links), run, resumed, on_step)
        finally:
            pool.close()

    return job


def _run_loop(loop: Any, run: Run, resumed: bool, on_step: OnStep) -> None:
    if resumed:
        loop.load(checkpoint.load(run.folder))
    loop.train(on_step)


def _warm_up(
    config: Config,
    run: Run,
    policy: Transformer,
    mix: Mix,
    on_warmup: OnWarmup,
    timeline: Timeline,
) -> None:
    size, steps = parameters(policy), config.warmup.steps
    run.note(f"policy with {size:,} parameters, warmed up for {steps} steps on {' and '.join(mix.environments)}")
    if steps:
        with timeline.span("warm_up", step=0):
            warm_up(
                policy,
                mix,
                config.warmup,
                config.run.seed,
                lambda step, loss, accuracy: on_warmup(step + 1, steps, loss),
            )


def _pool(config: Config, policy: Transformer) -> Pool:
    device = str(policy.device)
    spec = WorkerSpec(config.model, config.trained_on, config.failure.faults, device)
    workers, ray = config.rollout.workers, config.rollout.ray
    if ray:
        from rollscope.trainer.rollouts.ray_actors import RayActors  # few have Ray

        return RayActors(spec, workers, ray)
    return Processes(spec, workers, flat(policy)) if workers else Inline(spec)


def _device(name: str) -> str:
    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def _prepare_embodied(config: Config) -> Job:
    """A Gymnasium environment: the policy acts."""
    if len(config.trained_on) > 1:
        raise BadInput("[[environments]] mixes tasks of text; a Gymnasium environment is trained on alone")
    if config.algorithm.name != "ppo":
        raise BadInput(f"algorithm.name = {config.algorithm.name!r} does not act in Gymnasium environments: use 'ppo'")
    try:
        from rollscope.trainer.embodied.loop import EmbodiedLoop
        from rollscope.trainer.embodied.player import VectorPlayer
    except ImportError:
        raise MissingExtra("gymnasium", "train", "training in Gymnasium environments") from None
    options = dict(config.trained_on[0].options)
    player = VectorPlayer(options.pop("id", "rollscope/Reach-v0"), options.pop("envs", 16), options)

    def job(run: Run, resumed: bool, on_step: OnStep, on_warmup: OnWarmup) -> None:
        timeline = Timeline("trainer/0", lambda span: recording.spans(run, [span]), recording.announced(run))
        try:
            _run_loop(EmbodiedLoop(config, run, player, timeline), run, resumed, on_step)
        finally:
            player.close()

    return job
