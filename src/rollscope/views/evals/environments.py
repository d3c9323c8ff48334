"""Which environments an evaluation set plays in: those of the samples that its rows name."""

from __future__ import annotations

from rollscope.store.run import Run

from .sets import EvalSet, sets

FIRST = ("eval/", "bench/", "val-core/", "val-aux/")  # words before the set in a metric's name
LOOKED_AT = 20  # samples of each set


def set_environments(run: Run) -> dict[str, frozenset[str]]:
    """Set -> its environments; none if its rows name no sample that has one."""
    return run.remember("environments of evaluation sets", lambda: _read(run))


def _read(run: Run) -> dict[str, frozenset[str]]:
    looked = {name: _looked_at(found) for name, found in sets(run).items()}
    wanted = sorted({id for ids in looked.values() for id in ids})
    if not wanted:
        return dict.fromkeys(looked, frozenset())
    rows = run.samples(ids=wanted, columns=["id", "env"])
    env_of = {str(id): str(env) for id, env in zip(rows["id"], rows["env"], strict=True) if env}
    return {name: frozenset(env_of[id] for id in ids if id in env_of) for name, ids in looked.items()}


def _looked_at(evals: EvalSet) -> list[str]:
    """Samples of the first rows and of the last."""
    named = [str(one) for one in evals.sample if one is not None]
    return [*named[: LOOKED_AT // 2], *named[-LOOKED_AT // 2 :]]


def plays(run: Run, name: str, env: str) -> bool:
    """Does a set play in an environment? One whose environment is not known may."""
    played = set_environments(run).get(name, frozenset()) if env else frozenset()
    return not played or env in played


def is_of_another(run: Run, metric: str, env: str) -> bool:
    """Is a metric that of an evaluation which plays in other environments?"""
    return bool(env) and metric.startswith(FIRST) and not plays(run, metric.split("/")[1], env)
