"""A run's configuration: typed, with a default for every key, read from TOML.

An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rollscope.errors import BadInput, nearest

from .failures import Faults, apply

Aggregation = Literal["token_mean", "seq_mean_token_mean", "seq_mean_token_sum", "seq_mean_token_sum_norm"]


@dataclass(slots=True)
class RunConfig:
    name: str = ""
    project: str = "trainer"
    tags: list[str] = field(default_factory=list)
    seed: int = 0
    steps: int = 200
    seconds: float = 0.0  # end early after this long; 0 = no limit
    device: str = "auto"  # auto, cpu, cuda
    threads: int = 1  # of the trainer; each worker uses one


@dataclass(slots=True)
class EnvironmentConfig:
    name: str = "countdown"  # a shipped name, module:Class, or gym
    train_tasks: int = 1000
    options: dict[str, Any] = field(default_factory=dict)


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
    groups_per_request: int = 0  # 0 = the groups of a step, divided among the workers
    max_async: int = 1  # steps' worth of groups that may be ahead of the trainer
    max_off_policy_steps: int = 2  # older groups are discarded (reason max_async)
    discard_group_zero_advantage: bool = True
    straggler_seconds: float = 0.0  # cancel a request that takes longer; 0 = never
    overlong_penalty: float = 0.0  # subtracted from the reward of a sample that was cut off
    length_penalty: float = 0.0  # subtracted from the reward for each sampled token


@dataclass(slots=True)
class EvaluationConfig:
    every: int = 25  # steps; 0 = never
    tasks: int = 32
    repeats: int = 4
    temperature: float = 1.0
    name: str = ""  # of the set; empty = the environment's name
    prefix: Literal["eval", "val", "bench"] = "eval"  # val splits into veRL's val-core and val-aux


@dataclass(slots=True)
class CheckpointConfig:
    every: int = 50  # steps; 0 = only at the end


@dataclass(slots=True)
class FailureConfig:
    name: str = ""  # see trainer/failures.py; empty = no failure
    start: int = 0  # first step that it affects
    faults: Faults = field(default_factory=Faults)


@dataclass(slots=True)
class Config:
    run: RunConfig = field(default_factory=RunConfig)
    environment: EnvironmentConfig = field(default_factory=EnvironmentConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    warmup: WarmupConfig = field(default_factory=WarmupConfig)
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    failure: FailureConfig = field(default_factory=FailureConfig)


def read(path: str | Path, changes: Iterable[str] = ()) -> Config:
    """Read a TOML file and apply `key=value` changes to it."""
    try:
        table = tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise BadInput(f"cannot read the configuration {str(path)!r}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{str(path)!r} is not TOML: {error}") from None
    for change in changes:
        _set(table, change)
    return build(table)


def build(table: Mapping[str, Any]) -> Config:
    """A checked configuration from nested mappings, broken on purpose if it names a failure."""
    config = typing.cast(Config, _fill(Config, table, ""))
    _check(config)
    apply(config)
    return config


def _set(table: dict[str, Any], change: str) -> None:
    """Apply `rollout.repeats=4` to the table. A value that is not TOML is text."""
    key, equals, text = change.partition("=")
    if not equals:
        raise BadInput(f"--set {change!r} is not key=value, as in --set rollout.repeats=4")
    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        value = text
    *sections, last = key.strip().split(".")
    for section in sections:
        table = table.setdefault(section, {})
    table[last] = value


def _fill(kind: type, table: Mapping[str, Any], where: str) -> Any:
    """An instance of a dataclass with the values of a table; `where` is its path, for messages."""
    hints = typing.get_type_hints(kind)
    for key in table:
        if key not in hints:
            section = f"in [{where}]" if where else "at the top"
            raise BadInput(
                f"the configuration has no key {key!r} {section}.{nearest(key, hints)} Known are: {', '.join(hints)}"
            )
    filled = kind()
    for key, value in table.items():
        setattr(filled, key, _value(hints[key], value, f"{where}.{key}" if where else key))
    return filled


def _value(hint: Any, value: Any, where: str) -> Any:
    """The value, checked against its type hint."""
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise BadInput(f"{where} is a section, [{where}], not the value {value!r}")
        return _fill(typing.cast(type, hint), value, where)
    if typing.get_origin(hint) is Literal:
        allowed = typing.get_args(hint)
        if value not in allowed:
            raise BadInput(
                f"{where} = {value!r} is not one of {', '.join(map(repr, allowed))}.{nearest(str(value), allowed)}"
            )
        return value
    plain = typing.get_origin(hint) or hint
    if plain is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    union, number = isinstance(plain, types.UnionType), isinstance(value, bool) and plain is not bool
    if union or number or not isinstance(value, plain):
        raise BadInput(f"{where} = {value!r} is a {type(value).__name__}; expected a {plain.__name__}")
    return value


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
        for key, least in keys.items():
            value = getattr(getattr(config, section), key)
            if value < least:
                raise BadInput(f"{section}.{key} = {value} is too small: at least {least} is needed")
    model, rollout, algorithm = config.model, config.rollout, config.algorithm
    if model.width % (2 * model.heads):
        raise BadInput(f"model.width = {model.width} must be a multiple of twice model.heads = {model.heads}")
    if rollout.temperature <= 0:
        raise BadInput(
            f"rollout.temperature = {rollout.temperature} must be above 0:"
            " a policy that does not explore has no advantage to learn from"
        )
    grouped = algorithm.name == "grpo" and algorithm.advantage in ("grpo", "dr_grpo", "rloo")
    if grouped and rollout.repeats < 2:
        raise BadInput(
            f"rollout.repeats = {rollout.repeats} leaves nothing to compare a sample with:"
            f" {algorithm.advantage} needs at least 2"
        )


def as_table(config: Config) -> dict[str, Any]:
    """The configuration as plain values, for the run's record."""
    return dataclasses.asdict(config)
