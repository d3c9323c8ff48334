"""Names resolve to entries, and `rename` writes a name only if the number is the same."""

from __future__ import annotations

import pytest

import rollscope as rs
from rollscope.catalog.names.dialect import FRAMEWORKS, Dialect, spoken_by
from rollscope.catalog.names.index import canonical
from rollscope.catalog.names.pattern import HOLE, spellings
from rollscope.catalog.names.resolve import names_of, resolve
from rollscope.catalog.names.versions import admits
from rollscope.catalog.spec import METRICS, split
from rollscope.errors import AmbiguousMetric, BadInput, UnknownMetric


@pytest.mark.parametrize(
    "name, parts",
    [
        ("entropy", ("general", "", "entropy")),
        ("loss/policy", ("loss", "", "policy")),
        ("timing/forward/total", ("timing", "forward", "total")),
        ("a/b/c/d", ("a", "b", "c/d")),
    ],
)
def test_a_name_is_section_group_and_metric(name: str, parts: tuple[str, str, str]) -> None:
    assert split(name) == parts


@pytest.mark.parametrize(
    "rule, version, answer",
    [
        ("", "1.0", True),
        (">=0.9", "0.9.1", True),
        (">=0.9", "0.8.5", False),
        ("0.8", "0.8.1", True),
        ("0.8", "0.9", False),
        ("<1.13", "1.12.0", True),
        (">=1.10,<1.14", "1.13.2", True),
        (">=1.10,<1.14", "1.14", False),
        (">=0.9", "", True),
    ],
)
def test_a_version_rule_admits_what_it_says(rule: str, version: str, answer: bool) -> None:
    assert admits(rule, version) is answer


def test_a_choice_of_statistics_is_spelled_out() -> None:
    assert [(s.text, s.stat) for s in spellings("len_{avg=mean,max}/{task}")] == [
        ("len_avg/{task}", "mean"),
        ("len_max/{task}", "max"),
    ]


def test_ours_goes_before_theirs() -> None:
    assert resolve("policy/entropy").via is None


def test_a_placeholder_takes_any_word() -> None:
    assert (
        resolve("rewards/my_reward/mean", "trl:grpo").bindings == {"function": "my_reward"}
        or "my_reward" in resolve("rewards/my_reward/mean", "trl:grpo").name
    )


def test_a_set_name_may_hold_a_slash() -> None:
    assert resolve("val-core/openai/gsm8k/acc/mean@4", "verl").bindings["set"] == "openai/gsm8k"


def test_the_same_key_with_two_meanings_needs_a_dialect() -> None:
    with pytest.raises(AmbiguousMetric, match="trl"):
        resolve("kl", "trl")
    assert resolve("kl", "trl:grpo").name != resolve("kl", "trl:rloo").name


def test_an_unknown_name_says_what_is_near() -> None:
    with pytest.raises(UnknownMetric, match="actor/ppo_kl"):
        resolve("actor/ppo_k", "verl")


def test_an_unknown_framework_lists_the_known_ones() -> None:
    with pytest.raises(BadInput, match="openrlhf"):
        Dialect.parse("openrlfh")


@pytest.mark.parametrize("prefix", ["train/", "eval/"])
def test_a_trackers_prefix_is_seen_through(prefix: str) -> None:
    assert (
        resolve(prefix + "completions/mean_length", "trl:grpo").name
        == resolve("completions/mean_length", "trl:grpo").name
    )


def test_explain_reads_like_the_entry() -> None:
    match = rs.explain("actor/ppo_kl", dialect="verl")
    assert match.name == "policy/kl_update_k1" and match.unit and match.meaning


def test_rename_says_what_it_left_out_and_why() -> None:
    renamed, left_out = rs.rename({"policy/kl_update_k1": 0.1, "my/own": 1.0}, "trl:grpo", missing=True)
    assert renamed == {}
    assert set(left_out) == {"policy/kl_update_k1", "my/own"}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_name_of_every_dialect_leads_back_to_its_entry(framework: str) -> None:
    assert len(names_of(framework)) > 20
    for entry in list(METRICS.values()):
        for name in entry.names:
            if name.framework != framework:
                continue
            dialect = f"{framework}{':' + name.trainer.split(',')[0] if name.trainer else ''}"
            for spelling in spellings(name.key):
                match = resolve(spelling.text, dialect)
                shared = name.override or name.versions or not name.same  # two entries may have it
                assert match.entry is entry or (shared and match.entry.name in METRICS), (spelling.text, dialect)


def test_without_a_version_a_key_means_what_it_means_in_the_newest() -> None:
    key = "rollout_corr/rollout_is_mean"
    assert resolve(key, "verl").name == resolve(key, "verl@0.9").name != resolve(key, "verl@0.8").name


def test_a_brace_that_is_never_closed_is_an_unknown_name() -> None:
    with pytest.raises(UnknownMetric, match="no metric matches"):
        resolve("actor/{loss", "verl")


def test_one_frameworks_general_name_does_not_decide_for_the_others() -> None:
    with pytest.raises(AmbiguousMetric, match="openrlhf"):
        resolve("kl")


def scoped_names() -> dict[str, tuple[str, str]]:
    """Every name of every scoped entry, with one word in its holes: name -> (entry, scope)."""
    names: dict[str, tuple[str, str]] = {}
    for entry in METRICS.values():
        for scope in ("", "generated", "trained", "discarded") if entry.scoped else ():
            for stat in ("", *entry.stats) if entry.stats else ("",):
                names[canonical(entry, stat, scope, dict.fromkeys(HOLE.findall(entry.name), "word"))] = (
                    entry.name,
                    scope,
                )
    return names


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_rename_never_writes_a_key_of_other_samples(framework: str) -> None:
    """A key of discarded samples comes from them alone, and theirs go nowhere else."""
    wrong = {}
    for name, (entry, scope) in scoped_names().items():
        scopes = {n.key: n.scope for n in METRICS[entry].names if n.framework in spoken_by(framework) and n.same}
        for key in rs.rename({name: 0.25}, framework):
            counted = {s for pattern, s in scopes.items() for sp in spellings(pattern) if sp.match(key) is not None}
            allowed = {"trained", "generated"} if scope == "" else {scope}
            if not counted & allowed:
                wrong[name, key] = counted
    assert not wrong


def test_the_mean_reward_of_all_is_not_that_of_the_discarded() -> None:
    renamed, left_out = rs.rename({"reward/mean": 0.25}, "telescope", missing=True)
    assert renamed["reward_sum_mean"] == 0.25 and "discarded_reward_sum_mean" not in renamed
    assert "counts discarded samples" in left_out["discarded_reward_sum_mean"]
