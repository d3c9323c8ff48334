"""Which series of a run a name means: the rule of `catalog/names/find.py`, row by row."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import rollscope.catalog.families  # noqa: F401  # fills the catalogue
from rollscope.catalog.names.find import find, find_all
from rollscope.catalog.names.held import RunNames
from rollscope.catalog.names.spoken import spoken
from rollscope.errors import AmbiguousMetric, BadInput, UnknownMetric

FATES = ("reward/generated/mean", "reward/trained/mean", "reward/generated/max", "reward/trained/max")
STATE = ("frac_reward_zero_std", "kl", "reward", "loss", "completions/clipped_ratio")
KL = ("policy/kl_ref_k3", "policy/kl_ref_k1", "preference/kto/kl")
NORMS = ("optimiser/grad_norm", "sft/grad_norm")
LENGTHS = ("length/response/mean", "length/completion/mean")
EVALS = ("eval/x/acc/mean@4", "eval/x/acc/best_boot@4", "eval/x/acc/best@4", "eval/x/acc/mean@4/std")
VALS = ("val-core/x/acc/mean@4", "val-core/x/acc/best_boot@4", "val-aux/x/reward/mean@4")
PAIRS = ("preference/loss", "policy/loss_total", "preference/accuracy")
OPERATORS = ("pipeline/operator/0_a/in", "pipeline/operator/1_b/in")


class Row(NamedTuple):
    says: str
    names: tuple[str, ...]
    asked: str
    stored: str
    framework: str | None = None
    algorithm: str | None = None
    dialect: str | None = None
    warns: str = ""  # a part of the warning
    why: str = ""  # a part of how it was read


TRL = "trl:grpo"
OTHER = "another quantity"
ROWS = [
    Row("a logged name is itself", ("kl",), "kl", "kl"),
    Row("the trained without a scope", FATES, "reward/mean", "reward/trained/mean", why="trained samples"),
    Row("else the generated", FATES[:1], "reward/mean", "reward/generated/mean", why="generated samples"),
    Row("a framework's trained", FATES, "critic/rewards/max", "reward/trained/max", why="reward/max in verl"),
    Row("all, as fate is not known", ("reward/mean",), "critic/rewards/mean", "reward/mean"),
    Row("a scope, fate not known", ("reward/mean",), "reward/trained/mean", "reward/mean", warns="counts all"),
    Row("TRL's trained", ("reward",), "reward/trained/mean", "reward", TRL),
    Row("the mean without a statistic", FATES, "reward", "reward/trained/mean", why="its mean"),
    Row("a plain name for the mean", ("reward",), "reward/mean", "reward"),
    Row("ours for theirs", ("policy/kl_ref_k3",), "actor/kl_loss", "policy/kl_ref_k3"),
    Row("theirs for ours", ("actor/entropy",), "policy/entropy", "actor/entropy", "verl"),
    Row("theirs for another's", ("actor/entropy",), "entropy", "actor/entropy", "verl"),
    Row("ours is a pattern, theirs exact", ("perf/mfu/policy",), "perf/mfu/actor", "perf/mfu/policy"),
    Row("by the run's framework", KL, "kl", "policy/kl_ref_k3", TRL, why="framework is trl:grpo"),
    Row("by the run's algorithm", KL, "kl", "policy/kl_ref_k3", None, "grpo"),
    Row("by both", ("kl",), "policy/kl_ref_k3", "kl", "trl", "grpo"),
    Row("an algorithm excludes trainers", NORMS, "grad_norm", "optimiser/grad_norm", None, "grpo"),
    Row("by the names beside it", STATE, "policy/kl_ref_k3", "kl", why="logs it as kl"),
    Row("by them for every name", STATE, "length/not_ended", "completions/clipped_ratio"),
    Row("with a tracker's prefix", ("train/kl", "train/frac_reward_zero_std"), "policy/kl_ref_k3", "train/kl"),
    Row("accuracy for acc", EVALS, "eval/x/accuracy/mean@4", EVALS[0], why="is eval/x/acc/mean@4 in this run"),
    Row("acc for accuracy", ("eval/x/accuracy/std@2",), "eval/x/acc/std@2", "eval/x/accuracy/std@2"),
    Row("its detail", EVALS, "eval/x/accuracy/mean@4/std", EVALS[3]),
    Row("acc of rollouts", ("task_metric/accuracy/mean",), "rollout/acc/mean", "task_metric/accuracy/mean"),
    Row("accuracy of pairs", PAIRS, "accuracy", "preference/accuracy", None, "dpo"),
    Row("validation for evaluation", EVALS, "val-core/x/acc/mean@4", EVALS[0], why="logs it as eval/x/acc/mean@4"),
    Row("evaluation for validation", VALS, "eval/x/acc/mean@4", VALS[0]),
    Row("in other words, too", VALS, "eval/x/accuracy/mean@4", VALS[0]),
    Row("auxiliary validation", VALS, "eval/x/reward/mean@4", VALS[2]),
    Row("a benchmark", EVALS, "bench/x/accuracy/mean@4", EVALS[0]),
    Row("Trinity's bootstrap", EVALS, "bench/x/accuracy/best@4", EVALS[1], dialect="trinity"),
    Row("veRL's bootstrap", EVALS, "val-core/x/acc/best@4/mean", EVALS[1], dialect="verl"),
    Row("the loss of the algorithm's trainer", PAIRS, "train/loss", "preference/loss", None, "dpo", warns=OTHER),
    Row("by the dialect", KL, "kl", "preference/kto/kl", dialect="trl:kto", warns=OTHER),
    Row(
        "a dialect before what was logged",
        ("entropy", *KL, "policy/entropy"),
        "entropy",
        "policy/entropy",
        dialect="telescope",
    ),
    Row("a dialect without the name", ("my/own",), "my/own", "my/own", dialect="verl"),
    Row("another quantity", ("tool/calls/mean",), "total_tool_calls", "tool/calls/mean", warns=OTHER),
    Row("the same before another", LENGTHS, "response_length", "length/response/mean"),
    Row("no position", OPERATORS, "pipeline/operator/b/in", "pipeline/operator/1_b/in"),
    Row("an evaluation's", ("reward", "eval_reward"), "eval/reward", "eval_reward", TRL),
    Row("an evaluation alone", ("eval_reward",), "reward/mean", "eval_reward", TRL, warns="evaluation alone"),
    Row("with another tracker's prefix", ("train/loss", "train/rewards/margins"), "loss", "train/loss", "trl:dpo"),
    Row("without the prefix", ("loss", "rewards/margins"), "train/loss", "loss", "trl:dpo", why="logs it as loss"),
    Row("an evaluation's prefix", ("eval/loss", "train/loss"), "eval_loss", "eval/loss", "trl:dpo"),
    Row("a trainer of another algorithm", ("optimiser/lr",), "lr", "optimiser/lr", None, "dpo"),
    Row("a framework without names", ("reward/mean",), "critic/rewards/mean", "reward/mean", "my-own"),
    Row("a pattern of one", ("reward/trained/mean", "policy/entropy"), "critic/*/mean", "reward/trained/mean"),
]


@pytest.mark.parametrize("row", ROWS, ids=[row.says for row in ROWS])
def test_a_name_means(row: Row) -> None:
    found = find(row.asked, RunNames(row.names, row.framework, row.algorithm), row.dialect)
    assert found.stored == row.stored
    assert row.warns in found.warning and bool(row.warns) == bool(found.warning)
    assert row.why in found.why


MISSING = [
    ("nonsense", ("reward/mean",), "no metric 'nonsense' in this run, which has 1, nor in any dialect"),
    ("critic/reward/mean", ("reward/mean",), "Did you mean 'critic/rewards/mean'"),
    ("actor/entropy", ("reward/mean",), "It is policy/entropy in verl.*made from entropy"),
    ("policy/entropy", ("reward/mean",), "no metric 'policy/entropy' in this run.*made from entropy"),
    ("policy/kl_update_k1", ("actor/approx_kl",), "The run logs actor/approx_kl, which is another quantity"),
    ("eval_reward", ("reward",), "no metric 'eval_reward' in this run"),
    ("length/truncated", ("completions/clipped_ratio", "kl", "frac_reward_zero_std"), "completions/clipped_ratio"),
]


@pytest.mark.parametrize(("asked", "names", "says"), MISSING, ids=[row[0] for row in MISSING])
def test_a_name_that_the_run_does_not_hold_gets_a_sentence(asked: str, names: tuple[str, ...], says: str) -> None:
    with pytest.raises(UnknownMetric, match=says):
        find(asked, RunNames(names, "verl" if "actor" in names[0] else None))


def test_several_meanings_are_listed() -> None:
    run = RunNames(("pipeline/operator/0_a/in", "pipeline/operator/1_a/in"))
    with pytest.raises(AmbiguousMetric, match="0_a/in, pipeline/operator/1_a/in"):
        find("pipeline/operator/a/in", run)


def test_an_unknown_dialect_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match="openrlhf"):
        find("kl", RunNames(("kl",)), "openrlfh")


PATTERNS = [
    ("reward/*/mean", ["reward/generated/mean", "reward/trained/mean"]),
    ("critic/rewards/{mean,max}", ["reward/trained/mean", "reward/trained/max"]),
    ("critic/rewards/*", ["reward/trained/max", "reward/trained/mean"]),
    ("critic/rewards/{stat}", ["reward/trained/max", "reward/trained/mean"]),
    ("nothing/*", []),
]
OTHER_WORDS = [
    ("val-core/*/acc/mean@*", ["eval/x/acc/mean@4", "eval/x/acc/mean@4/std"]),
    ("eval/*/accuracy/mean@4", ["eval/x/acc/mean@4"]),
    ("bench/{set}/accuracy/mean@{k}", ["eval/x/acc/mean@4", "eval/x/acc/mean@4/std"]),
]


@pytest.mark.parametrize(("pattern", "stored"), OTHER_WORDS)
def test_a_pattern_of_evaluations_is_found_under_another_first_word(pattern: str, stored: list[str]) -> None:
    assert [one.stored for one in find_all(pattern, RunNames(EVALS))] == stored


def test_another_number_of_repeats_is_another_number() -> None:
    with pytest.raises(UnknownMetric, match="Did you mean 'eval/x/acc/mean@4'"):
        find("eval/x/accuracy/mean@2", RunNames(EVALS))


@pytest.mark.parametrize(("pattern", "stored"), PATTERNS)
def test_a_pattern_means_every_series_that_a_framework_calls_so(pattern: str, stored: list[str]) -> None:
    assert [one.stored for one in find_all(pattern, RunNames(FATES))] == stored


SPOKEN = [
    (STATE, None, None, "trl:grpo"),
    (STATE, None, "rloo", "trl:rloo"),
    (("actor/pg_loss", "critic/rewards/mean", "timing_s/gen"), None, None, "verl"),
    (("rewards/chosen", "rewards/margins", "logps/chosen", "logits/chosen"), None, "dpo", "trl:dpo"),
    (("kl",), None, None, None),
    (("reward/mean", "policy/entropy", "my/own"), None, "grpo", None),
    (("anything",), "trl:grpo@1.16", None, "trl:grpo@1.16"),
    (("anything",), "unheard-of", None, None),
    (("loss",), "openrlhf", "dpo", "openrlhf:dpo"),
    (("loss",), "trl", "reward_model", "trl:reward"),
]


@pytest.mark.parametrize(("names", "framework", "algorithm", "dialect"), SPOKEN)
def test_a_run_speaks_what_it_says_or_what_its_names_say(
    names: tuple[str, ...], framework: str | None, algorithm: str | None, dialect: str | None
) -> None:
    assert spoken(names, framework, algorithm).dialect == dialect
