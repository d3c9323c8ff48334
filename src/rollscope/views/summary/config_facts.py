"""The configuration of a run: flat for the search box, and the few facts worth a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rollscope import strict_json
from rollscope.store.run import Run

MOST_FACTS = 14
VALUE_CHARACTERS = 200  # of a value in the flat configuration
FACT_CHARACTERS = 120  # of a value in a fact
FIRST = (  # parts of keys, most interesting first
    *("model", "lr", "learning_rate", "batch", "group_size", "num_generations", "rollout", "kl", "beta", "clip"),
    *("temperature", "max_", "seed", "env", "dataset", "data", "gpus", "steps", "epochs", "optim"),
)
MACHINE = ("host", "hostname", "gpu", "gpus", "python", "command")


def flat_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Scalars of a nested configuration under dotted keys (`optim.lr`); long texts are cut."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": scalar for inner, scalar in flat_config(value).items()}
        elif isinstance(value, str):
            flat[key] = value[:VALUE_CHARACTERS]
        elif isinstance(value, float):
            flat[key] = strict_json.number(value)
        elif isinstance(value, bool | int) or value is None:
            flat[key] = value
    return flat


def config_facts(run: Run) -> list[list[str]]:
    """Key and value of the configuration's most interesting keys, then where the run ran.

    A long configuration has no others here: a page of all facts does.
    """
    flat = flat_config(run.config)
    keys = sorted(flat, key=lambda key: (_rank(key), key))
    keys = keys if len(keys) <= MOST_FACTS else [key for key in keys if _rank(key) < len(FIRST)][:MOST_FACTS]
    facts = [[key, _text(flat[key])] for key in keys if flat[key] is not None]
    return facts + _environment(run.facts.get("environment") or {})


def _rank(key: str) -> int:
    return next((i for i, part in enumerate(FIRST) if part in key.lower()), len(FIRST))


def _environment(environment: Mapping[str, Any]) -> list[list[str]]:
    values = [(key, environment.get(key)) for key in MACHINE]
    facts = [[key, _text(value)] for key, value in values if isinstance(value, str | int | float)]
    git = environment.get("git")
    if isinstance(git, dict) and git.get("commit"):
        facts.append(["commit", str(git["commit"])[:10] + (" with changes" if git.get("dirty") else "")])
    return facts


def _text(value: Any) -> str:
    return _number(value) if isinstance(value, float) else str(value)[:FACT_CHARACTERS]


def _number(value: float) -> str:
    """A number as every page writes it: 6e-4 and not 0.0006."""
    if value == 0 or not 0 < abs(value) < 1e-3:
        return f"{value:g}"
    mantissa, _, power = f"{value:.2e}".partition("e")
    return f"{float(mantissa):g}e{int(power)}"
