"""Evaluation: the numbers of `rs.evaluate`, in the sections eval, bench, val-core and val-aux.

The numbers are the same in all four sections, so one table describes them. The bootstrap that
frameworks call `best@k` is `best_boot@k` here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import rollscope.catalog.partials.per_task  # noqa: F401  # registers the evaluations' kinds
from rollscope.catalog.reported import openrlhf, reported, telescope, trinity, verl
from rollscope.catalog.spec import Good, Name

DETAIL = ("mean", "std", "std0", "min", "max", "ci_low", "ci_high")
SECTIONS = {
    "eval": "",
    "bench": " Part of a benchmark run rather than of an evaluation during training.",
    "val-core": " In veRL's section of the numbers to watch: the accuracy (or reward) at the full number of repeats.",
    "val-aux": " In veRL's section of the numbers that explain the main ones.",
}
DETAILED = (
    " With detailed=True, the spread over tasks is also written: /mean, /std (ddof 1, as in Trinity's code), "
    "/std0 (ddof 0, as in Trinity's documentation), /min, /max; /ci_low and /ci_high are the 95 % interval from "
    "resampling tasks (1,000 draws, seed 42)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statistic:
    """One statistic of a score over the repeats of a task and over tasks."""

    word: str  # in the key, before @
    meaning: str
    definition: str
    read: str
    check: str
    example: str
    good: Good = "up"
    verl: str = ""  # veRL's spelling after {set}/{score}/
    trinity: str = ""
    note: str = ""
    more: tuple[Name, ...] = field(default=())


STATISTICS = (
    _Statistic(
        word="mean",
        meaning="Score on the evaluation set: the number to watch first.",
        definition=(
            "mean over tasks of the mean over a task's n repeats. Failed repeats are left out, and "
            "so are tasks in which every repeat failed."
        ),
        read=(
            "This number decides whether the model got better. Compare runs by their intervals: a "
            "few hundred tasks leave two or three points of noise. Tasks with another number of "
            "repeats have their own key."
        ),
        check=(
            "eval/{set}/failed/share: did tasks drop out?; mean_strict@n; reward on training "
            "tasks: does only that rise?"
        ),
        example="tasks (0.8, 0.9), (0.6, 0.9), (0.95, 0.85): mean@2 = 0.8333",
        verl="mean@{k}",
        trinity="mean@{k}",
        note=(
            "Trinity drops failed runs silently, and a task that lost one is averaged under another key; "
            "veRL 0.9 counts expected sessions that it did not receive as acc = 0, which is our "
            "mean_strict@n, and logs ours as acc_success_only"
        ),
        more=(
            openrlhf(
                "eval_{set}_pass1",
                same=False,
                note=(
                    "mean reward over all samples, for one score only; equal to eval/{set}/reward/mean@n "
                    "if every prompt has the same number of samples"
                ),
            ),
        ),
    ),
    _Statistic(
        word="mean_strict",
        meaning="Score on the evaluation set with failures counted as 0.",
        definition=("mean over tasks of Σ scores / n, where failed and missing repeats add 0 and still count in n."),
        read=("If it differs from mean@n, failures are part of the result. Crashing on hard tasks cannot raise it."),
        check="eval/{set}/failed/share; timeouts; context overflow",
        example="scores 1, 1 and one failure: 0.6667 where mean@3 is 1.0",
    ),
    _Statistic(
        word="std",
        meaning="How much a task's score varies between its repeats.",
        definition=(
            "standard deviation over a task's repeats (ddof 0), then the mean over tasks. It is "
            "not a spread over tasks."
        ),
        read=(
            "0 is a deterministic answer; 0.5 for scores of 0 and 1 is a coin toss. High means "
            "that best@k can be well above mean@n."
        ),
        check="sampling temperature; tasks that the model can barely solve",
        example="(0.8, 0.9), (0.6, 0.9), (0.95, 0.85): std@2 = 0.0833",
        good="context",
        verl="std@{k}",
        trinity="std@{k}",
        note=(
            "the same; Trinity's documentation calls it a spread over all tasks, but its code averages "
            "the spread inside tasks"
        ),
    ),
    _Statistic(
        word="best",
        meaning="Expected score of the best of k tries.",
        definition=(
            "exact expectation of the highest score of k repeats drawn without replacement from a "
            "task's n repeats, then the mean over the tasks with at least k scores. For scores of "
            "0 and 1 it is pass@k."
        ),
        read=(
            "The difference to mean@n is what better selection could gain. If it shrinks while the "
            "mean rises, the policy gives up diversity."
        ),
        check="policy/entropy; pass@k of the base model; temperature",
        example="1 of 4 right: best@2 = 0.5, best@4 = 1.0",
        more=(
            openrlhf(
                "eval_{set}_pass{n}",
                same=False,
                note="mean over prompts of the highest reward of all n samples: eval/{set}/reward/best@n",
            ),
        ),
    ),
    _Statistic(
        word="worst",
        meaning="Expected score of the worst of k tries.",
        definition=(
            "exact expectation of the lowest score of k repeats drawn without replacement from a "
            "task's n repeats, then the mean over tasks. For scores of 0 and 1 it is the chance "
            "that all k are right."
        ),
        read=("Measures reliability. It climbs when the model is right every time, not only sometimes."),
        check="std@n; temperature",
        example="3 of 4 right: worst@2 = 0.5",
        more=(
            telescope(
                "pass^{k}/{score}",
                same=False,
                note="the chance that all k are right, computed only from the first k completions",
            ),
        ),
    ),
    _Statistic(
        word="pass",
        meaning="Chance that at least one of k tries is right.",
        definition=(
            "the unbiased estimate 1 - C(n - c, k) / C(n, k) with c of n tries right, mean over "
            "tasks. Written only if every score is 0 or 1; the same number as best@k."
        ),
        read=(
            "pass@1 is accuracy; pass@k for large k shows what the model can do at all. Training "
            "often raises the first and not the second."
        ),
        check="best@k; number of repeats, because k near n is noisy",
        example="c = 1 of n = 4: pass@2 = 0.5",
        more=(
            telescope(
                "pass@{k}/{score}",
                same=False,
                note=(
                    "computed on the first k completions, so n = k: any success counts as 1, and the "
                    "other completions are ignored"
                ),
            ),
        ),
    ),
    _Statistic(
        word="maj",
        meaning="Expected score of a majority vote among k tries.",
        definition=(
            "exact expectation, over k repeats drawn without replacement, of the score of the most "
            "frequent answer. Equally frequent answers share the vote; an answer has the mean "
            "score of the repeats that gave it. Needs `answer` in every scored repeat of the task."
        ),
        read=("If it is above mean@n, right answers agree with each other more often than wrong ones do."),
        check="answers that differ only in form; std@n",
        example="answers A, A, B with scores 1, 1, 0: maj@3 = 1.0",
    ),
    _Statistic(
        word="best_boot",
        meaning=("The frameworks' best@k: a bootstrap estimate that is lower than the exact best of k."),
        definition=(
            "k repeats drawn with replacement, 1,000 times, seed 42; mean of the highest; mean "
            "over the tasks whose own list of k contains this k. It is smaller than best@k because "
            "one repeat can be drawn twice."
        ),
        read=(
            "Use it only to compare with their curves: 1 right of 4 gives 0.687 at k = 4, although "
            "the chance that one of the four is right is 1."
        ),
        check="best@k, the unbiased number",
        example="1 of 4 right: best_boot@4 = 0.687",
        verl="best@{k}/mean",
        trinity="best@{k}",
    ),
    _Statistic(
        word="best_boot_std",
        meaning="Spread of the frameworks' best@k over its draws.",
        definition=(
            "standard deviation (ddof 0) of the highest over the 1,000 draws, then the mean over "
            "tasks. It measures the noise of the resampling, not of the evaluation."
        ),
        read="This is not an error bar. Use /ci_low and /ci_high of mean@n.",
        check="mean@n with its interval",
        example="0.366",
        good="context",
        verl="best@{k}/std",
    ),
    _Statistic(
        word="worst_boot",
        meaning=("The frameworks' worst@k: a bootstrap estimate that is higher than the exact worst of k."),
        definition=("k repeats drawn with replacement, 1,000 times, seed 42; mean of the lowest; mean over tasks."),
        read="Use it only to compare with their curves.",
        check="worst@k, the unbiased number",
        example="(0.8, 0.9): worst_boot@2 = 0.823",
        verl="worst@{k}/mean",
        trinity="worst@{k}",
    ),
    _Statistic(
        word="worst_boot_std",
        meaning="Spread of the frameworks' worst@k over its draws.",
        definition=("standard deviation (ddof 0) of the lowest over the 1,000 draws, then the mean over tasks."),
        read="This is not an error bar.",
        check="mean@n with its interval",
        example="0.068",
        good="context",
        verl="worst@{k}/std",
    ),
    _Statistic(
        word="maj_boot",
        meaning="The frameworks' maj@k: a majority vote among resampled tries.",
        definition=(
            "k repeats drawn with replacement, 1,000 times, seed 42; score of the first drawn "
            "repeat with the most frequent answer (in a tie, the answer drawn first wins); mean "
            "over tasks."
        ),
        read="Use it only to compare with their curves.",
        check="maj@k, the exact number",
        example="0.216",
        verl="maj@{k}/mean",
    ),
    _Statistic(
        word="maj_boot_std",
        meaning="Spread of the frameworks' maj@k over its draws.",
        definition=("standard deviation (ddof 0) of the vote's score over the 1,000 draws, then the mean over tasks."),
        read="This is not an error bar.",
        check="mean@n with its interval",
        example="0.397",
        good="context",
        verl="maj@{k}/std",
    ),
)

_DETAILED_STATS = "with monitor.detailed_stats, Trinity writes these instead of the plain key; we write both"


def _names(section: str, s: _Statistic) -> list[Name]:
    """The frameworks' keys of a statistic that belong to one section."""
    head = f"{section}/{{set}}/{{score}}/"
    names: list[Name] = []
    if s.verl and section.startswith("val-"):
        names.append(verl(head + s.verl, note=s.note))
    if s.trinity and section in ("eval", "bench"):
        names.append(trinity(head + s.trinity, note=s.note))
        names.append(trinity(head + s.trinity + "/{mean,max,min,std}", note=_DETAILED_STATS))
    return names + list(s.more if section == "eval" else ())


for _section, _where in SECTIONS.items():
    for _s in STATISTICS:
        reported(
            f"{_section}/{{set}}/{{score}}/{_s.word}@{{k}}",
            meaning=_s.meaning,
            definition=_s.definition + DETAILED + _where,
            read=_s.read,
            check=_s.check,
            unit="score",
            good=_s.good,
            example=_s.example,
            producer="evaluate",
            needs=("evaluation rows: task, repeat, scores", *(("answer",) if _s.word.startswith("maj") else ())),
            stats=DETAIL,
            names=_names(_section, _s),
        )
