"""A run's configuration: typed, with a default for every key, read from TOML.

An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import dataclasses
import tomllib
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rollscope.errors import BadInput

from . import config_table
from .failures import Faults, apply

Aggregation = Literal["token_mean", "seq_mean_token_mean", "seq_mean_token_sum", "seq_mean_token_sum_norm"]


@dataclass(slots=True)
class RunConfig:
    name: str = ""
    project: str = "trainer"
    tags: list[str] = field(default_factory=list)
    seed: int = 0
    steps: int = 200
    seconds: float = 0.0  # end early after this long, and one step at least; 0 = no limit
    device: str = "auto"  # auto, cpu, cuda
    threads: int = 1  # of the trainer; each worker uses one
    sinks: list[Any] = field(default_factory=list)  # names of other trackers, or [name, {options}]
    dialect: str = ""  # the framework whose names the sinks use; empty = ours
    peak_tflops: float = 0.0  # of the machine, for MFU; 0 = that of the GPU, none for a CPU


@dataclass(slots=True)
class EnvironmentConfig:
    name: str = "countdown"  # a shipped name, module:Class, or gym
    train_tasks: int = 1000
    options: dict[str, Any] = field(default_factory=dict)
    label: str = ""  # its name in the run; empty = the environment's own
    weight: float = 1.0  # its share of the groups, relative to the other [[environments]]


@dataclass(slots=True)
class ModelConfig:
    width: int = 64
    layers: int = 2
    heads: int = 4
    context: int = 64  # longest row, prompt and answer together


@dataclass(slots=True)
class WarmupConfig:
    steps: int = 200
    batch: int = 64
    lr: float = 4e-3


@dataclass(slots=True)
class AlgorithmConfig:
    name: Literal["grpo", "ppo", "dpo", "reward_model"] = "grpo"
    # PPO always uses gae.
    advantage: Literal["grpo", "dr_grpo", "rloo", "reinforce_pp", "reinforce_pp_baseline", "gae"] = "grpo"
    loss: Literal["dpo", "kto", "simpo"] = "dpo"  # of preference learning
    backend: str = ""  # module:Class of your own backend; empty = that of the algorithm
    clip_low: float = 0.2
    clip_high: float = 0.2
    clip_c: float = 0.0  # dual clip; 0 = off
    ratio_level: Literal["token", "sequence"] = "token"
    loss_agg: Aggregation = "token_mean"
    kl_coef: float = 0.0
    kl_in: Literal["loss", "reward"] = "loss"
    kl_estimator: Literal["k1", "k2", "k3"] = "k3"
    entropy_coef: float = 0.0
    importance_cap: float = 0.0  # truncated importance sampling against the sampler; 0 = off
    epochs: int = 1
    minibatches: int = 2
    microbatch: int = 64  # samples per forward and backward
    gamma: float = 1.0
    lam: float = 0.95
    value_clip: float = 0.2
    beta: float = 0.1  # of preference losses
    margin: float = 0.5  # of SimPO


@dataclass(slots=True)
class OptimiserConfig:
    lr: float = 5e-4
    critic_lr: float = 1e-3
    warmup_steps: int = 5
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0  # 0 = measured, not clipped


@dataclass(slots=True)
class RolloutConfig:
    groups_per_step: int = 16
    repeats: int = 8
    max_completion_tokens: int = 16
    temperature: float = 1.0
    workers: int = 0  # 0 = synchronous and deterministic, in the trainer's own process
    ray: str = ""  # address of a Ray whose actors are the workers; "here" starts one; "" = processes of this machine
    groups_per_request: int = 0  # 0 = the groups of a step, divided among the workers
    max_async: int = 1  # steps' worth of groups that may be ahead of the trainer
    max_off_policy_steps: int = 2  # older groups are discarded (reason max_async)
    discard_group_zero_advantage: bool = True
    straggler_seconds: float = 0.0  # cancel a request that takes longer; 0 = never
    overlong_penalty: float = 0.0  # subtracted from the reward of a sample that was cut off
    length_penalty: float = 0.0  # subtracted from the reward for each sampled token


@dataclass(slots=True)
class EvaluationSet:
    """One set of held-out tasks.

    A key that [[evaluation.sets]] leaves out is that of [evaluation].
    """

    every: int = 25  # steps; 0 = never
    tasks: int = 32
    repeats: int = 4
    temperature: float = 1.0
    name: str = ""  # of the set; empty = the environment's name
    prefix: Literal["eval", "val", "bench"] = "eval"  # val splits into veRL's val-core and val-aux
    detailed: bool = False  # also mean, std, min and max over the tasks
    scores: list[str] = field(default_factory=list)  # of the environment; empty = all
    environment: str = ""  # label of a trained one, or any name; empty = each trained one
    options: dict[str, Any] = field(default_factory=dict)  # of an environment that is not trained on
    seed: int = 0  # two sets of one environment need two seeds to have different tasks


@dataclass(slots=True)
class EvaluationConfig(EvaluationSet):
    sets: list[EvaluationSet] = field(default_factory=list)  # empty = one, with the keys above


@dataclass(slots=True)
class CheckpointConfig:
    every: int = 50  # steps; 0 = only at the end


@dataclass(slots=True)
class FailureConfig:
    name: str = ""  # see trainer/failures.py; empty = no failure
    start: int = 0  # first step that it affects
    strength: float = 1.0  # how strong it is, where it has a size; 1 is what its description says
    faults: Faults = field(default_factory=Faults)


@dataclass(slots=True)
class Config:
    run: RunConfig = field(default_factory=RunConfig)
    environment: EnvironmentConfig = field(default_factory=EnvironmentConfig)
    environments: list[EnvironmentConfig] = field(default_factory=list)  # several at once, mixed by weight
    model: ModelConfig = field(default_factory=ModelConfig)
    warmup: WarmupConfig = field(default_factory=WarmupConfig)
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    failure: FailureConfig = field(default_factory=FailureConfig)

    @property
    def trained_on(self) -> list[EnvironmentConfig]:
        """The environments of the run: those of [[environments]], or the one of [environment]."""
        return self.environments or [self.environment]


def read(path: str | Path, changes: Iterable[str] = ()) -> Config:
    """Read a TOML file and apply `key=value` changes to it."""
    try:
        table = tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise BadInput(f"cannot read the configuration {str(path)!r}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{str(path)!r} is not TOML: {error}") from None
    for change in changes:
        config_table.change(table, change)
    return build(table)


def build(table: Mapping[str, Any]) -> Config:
    """A checked configuration from nested mappings, broken on purpose if it names a failure."""
    config = typing.cast(Config, config_table.fill(Config, _inherited(table)))
    if config.environments and "environment" in table:
        raise BadInput("the configuration has [environment] and [[environments]]: move the first into the second")
    _check(config)
    apply(config)
    return config


def _inherited(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table, where each evaluation set has the keys of [evaluation] that it does not give."""
    evaluation = table.get("evaluation")
    if not isinstance(evaluation, Mapping) or not isinstance(evaluation.get("sets"), list):
        return table
    common = {key: value for key, value in evaluation.items() if key not in ("sets", "name")}
    sets = [{**common, **given} if isinstance(given, Mapping) else given for given in evaluation["sets"]]
    return {**table, "evaluation": {**evaluation, "sets": sets}}


_AT_LEAST: dict[str, dict[str, int]] = {
    "run": {"steps": 1, "threads": 1},
    "environment": {"train_tasks": 1},
    "model": {"width": 8, "layers": 1, "heads": 1, "context": 8},
    "warmup": {"steps": 0},
    "algorithm": {"epochs": 1, "minibatches": 1, "microbatch": 1},
    "rollout": {
        "groups_per_step": 1,
        "repeats": 1,
        "workers": 0,
        "max_completion_tokens": 1,
        "max_async": 0,
        "max_off_policy_steps": 0,
    },
    "evaluation": {"repeats": 1, "tasks": 1},
}


def _check(config: Config) -> None:
    for section, keys in _AT_LEAST.items():
        _check_least(getattr(config, section), section, keys)
    for i, environment in enumerate(config.environments):
        _check_least(environment, f"environments[{i}]", _AT_LEAST["environment"])
        if environment.weight <= 0:
            raise BadInput(f"environments[{i}].weight = {environment.weight} must be above 0: leave the table out")
    for i, one in enumerate(config.evaluation.sets):
        _check_least(one, f"evaluation.sets[{i}]", _AT_LEAST["evaluation"])
    model, rollout, algorithm = config.model, config.rollout, config.algorithm
    if model.width % (2 * model.heads):
        raise BadInput(f"model.width = {model.width} must be a multiple of twice model.heads = {model.heads}")
    if rollout.temperature <= 0:
        raise BadInput(
            f"rollout.temperature = {rollout.temperature} must be above 0:"
            " a policy that does not explore has no advantage to learn from"
        )
    if rollout.ray and not rollout.workers:
        raise BadInput(f"rollout.ray = {rollout.ray!r} needs workers: set rollout.workers to how many actors there are")
    grouped = algorithm.name == "grpo" and algorithm.advantage in ("grpo", "dr_grpo", "rloo")
    if grouped and rollout.repeats < 2:
        raise BadInput(
            f"rollout.repeats = {rollout.repeats} leaves nothing to compare a sample with:"
            f" {algorithm.advantage} needs at least 2"
        )


def _check_least(values: Any, where: str, keys: Mapping[str, int]) -> None:
    for key, least in keys.items():
        value = getattr(values, key)
        if value < least:
            raise BadInput(f"{where}.{key} = {value} is too small: at least {least} is needed")


def as_table(config: Config) -> dict[str, Any]:
    """The configuration as plain values, for the run's record."""
    table = dataclasses.asdict(config)
    table.pop("environment" if config.environments else "environments")
    if not config.evaluation.sets:
        table["evaluation"].pop("sets")
    return table
