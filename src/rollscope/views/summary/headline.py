"""The series that stand for a run: its headline, and its evaluation."""

from __future__ import annotations

from collections.abc import Mapping

from rollscope.store.run import Run
from rollscope.views.dictionary import Meaning

AIMS = (  # what a run is trained for: the first that it has
    *("env/success_once", "reward/generated/mean", "reward/mean", "reward/trained/mean", "score/generated/mean"),
    *("score/mean", "task_reward/mean", "env/return/mean", "policy/rlhf_reward", "preference/online/rlhf_reward"),
    *("preference/margin/mean", "preference/simpo/margin/mean", "preference/free/margin/mean"),
    *("preference/accuracy", "reward_model/accuracy", "reward_model/margin/mean", "preference/loss"),
    *("reward_model/loss", "distillation/loss/mean", "distillation/jsd", "sft/loss"),
)
REWARDS = ("reward/", "score/")  # of samples; those of pairs made before the run never move
OFFLINE = ("dpo", "simpo", "cpo", "orpo", "ipo", "kto", "reward_model", "sft")
HEADLINES = (*AIMS, "policy/loss_total", "loss")
WORDS = ("reward", "return", "score", "loss")  # in a name that the catalogue does not know
NO_HEADLINE = ("std", "min", "max", "gini", "p05", "p50", "p95", "ci_low", "ci_high", "missing", "count")


def headline(run: Run, meanings: Mapping[str, Meaning]) -> str:
    """The logged name of the run's reward, or of the nearest thing; empty for an empty run."""
    offline = str(run.facts.get("algorithm") or "").lower() in OFFLINE
    for name in HEADLINES:
        if name in meanings and not (offline and name.startswith(REWARDS)):
            return meanings[name].logged
    logged = run.stored_names() or list(run.derived())
    names = [name for name in logged if name.rpartition("/")[2] not in NO_HEADLINE]
    for word in WORDS:
        fits = [name for name in names if word in name.lower()]
        if fits:
            return min(fits, key=lambda name: (not name.endswith("mean") and name != word, len(name)))
    return names[0] if names else ""


def evaluation(meanings: Mapping[str, Meaning]) -> str:
    """The logged name of a mean@k of the first evaluation set; empty if the run has none."""
    names = [m.logged for name, m in meanings.items() if m.match and _is_mean_at_k(name, m.stat)]
    return min(names, key=lambda name: (len(name), name), default="")


def _is_mean_at_k(name: str, stat: str) -> bool:
    return name.startswith("eval/") and "/mean@" in name and stat in ("", "mean")
