"""Evaluation: what `rs.evaluate` writes, under the sections eval, bench and veRL's val-core and val-aux.

The numbers are the same in all four sections; one table describes them. Who calls a bootstrap `best@k` finds it here as `best_boot@k`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import rollscope.catalog.partials.per_task  # noqa: F401  # registers the kinds that evaluations are stored as
from rollscope.catalog.reported import openrlhf, reported, telescope, trinity, verl
from rollscope.catalog.spec import Good, Name

DETAIL = ("mean", "std", "std0", "min", "max", "ci_low", "ci_high")
SECTIONS = {
    "eval": "",
    "bench": " Of a benchmark run rather than of one during training.",
    "val-core": " In veRL's section of the numbers to watch: the accuracy (or reward) at the full number of repeats.",
    "val-aux": " In veRL's section of the numbers that explain the main ones.",
}
DETAILED = (
    " With detailed=True the spread over tasks stands beside it: /mean, /std (ddof 1, as Trinity's code has it), /std0 (ddof 0, as Trinity's documentation prints), /min, /max;"
    " /ci_low and /ci_high are the 95 % interval by resampling tasks (1,000 draws, seed 42)."
)


@dataclass(frozen=True, slots=True)
class _Statistic:
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
        "mean",
        "Score on the evaluation set: the number to watch first.",
        "mean over tasks of the mean over a task's repeats, n repeats each. A failed repeat is outside; a task of which every repeat failed is outside too.",
        "The judge of the run. Compare runs by their intervals: a few hundred tasks leave two or three points of noise. Tasks with another number of repeats have a key of their own.",
        "eval/{set}/failed/share, a rise can be tasks that dropped out; mean_strict@n beside it; reward on training tasks, is it rising alone",
        "tasks (0.8, 0.9), (0.6, 0.9), (0.95, 0.85): mean@2 = 0.8333",
        verl="mean@{k}",
        trinity="mean@{k}",
        note="failed runs are dropped without a trace in Trinity, and a task that lost one is averaged under another key; veRL 0.9 counts sessions it expected and did not get as acc = 0, which is our mean_strict@n, and keeps ours as acc_success_only",
        more=(
            openrlhf(
                "eval_{set}_pass1",
                same=False,
                note="mean reward over all samples, one score only; it is eval/{set}/reward/mean@n when every prompt has the same number of samples",
            ),
        ),
    ),
    _Statistic(
        "mean_strict",
        "Score on the evaluation set with failures counted as 0.",
        "mean over tasks of Σ scores / n, where failed and missing repeats bring 0 and still count in n.",
        "Apart from mean@n means that failures are part of the result. This one cannot be flattered by crashing on hard tasks.",
        "eval/{set}/failed/share; timeouts; context overflow",
        "scores 1, 1 and one failure: 0.6667 where mean@3 is 1.0",
        more=(),
    ),
    _Statistic(
        "std",
        "How much a task's score varies between its repeats.",
        "standard deviation over a task's repeats (ddof 0), then the mean over tasks. Not a spread over tasks.",
        "0 is a deterministic answer; 0.5 for scores of 0 and 1 is a coin. High means best@k has room over mean@n.",
        "sampling temperature; tasks on the edge of what the model can do",
        "(0.8, 0.9), (0.6, 0.9), (0.95, 0.85): std@2 = 0.0833",
        good="context",
        verl="std@{k}",
        trinity="std@{k}",
        note="the same; Trinity's page calls it a spread of all tasks, its code averages the spread inside tasks",
    ),
    _Statistic(
        "best",
        "What the best of k tries would score.",
        "expectation of the highest of k repeats drawn without replacement from a task's n, exactly; then the mean over the tasks with at least k scores. For scores of 0 and 1 it is pass@k.",
        "The gap to mean@n is what better selection could win. A shrinking gap at a rising mean is a policy that gives up diversity.",
        "policy/entropy; pass@k of the base model; temperature",
        "1 of 4 right: best@2 = 0.5, best@4 = 1.0",
        more=(
            openrlhf(
                "eval_{set}_pass{n}",
                same=False,
                note="mean over prompts of the highest reward of all n samples: eval/{set}/reward/best@n",
            ),
        ),
    ),
    _Statistic(
        "worst",
        "What the worst of k tries would score.",
        "expectation of the lowest of k repeats drawn without replacement from a task's n, exactly; then the mean over tasks. For scores of 0 and 1: the chance that all k are right.",
        "Reliability. It climbs when the model is right every time, not only sometimes.",
        "std@n; temperature",
        "3 of 4 right: worst@2 = 0.5",
        more=(
            telescope(
                "pass^{k}/{score}",
                same=False,
                note="the chance that all k are right, from the first k completions only",
            ),
        ),
    ),
    _Statistic(
        "pass",
        "Chance that at least one of k tries is right.",
        "the unbiased estimate 1 - C(n - c, k) / C(n, k), c right of n, mean over tasks. Written only where every score is 0 or 1; the same number as best@k.",
        "pass@1 is accuracy; pass@k for large k is what the model can do at all. Training often raises the first and not the second.",
        "best@k; number of repeats, k near n is noisy",
        "c = 1 of n = 4: pass@2 = 0.5",
        more=(
            telescope(
                "pass@{k}/{score}",
                same=False,
                note="evaluated on the first k completions, so n = k: any success is 1, and the other completions are thrown away",
            ),
        ),
    ),
    _Statistic(
        "maj",
        "What a vote among k tries would score.",
        "expectation over k repeats drawn without replacement of the score of the most frequent answer, exactly; equally frequent answers share; an answer has the mean score of the repeats that gave it. Needs `answer` in every scored repeat of the task.",
        "Above mean@n the model is right more often than it is wrong in the same way.",
        "answers that differ in form only; std@n",
        "answers A, A, B with scores 1, 1, 0: maj@3 = 1.0",
    ),
    _Statistic(
        "best_boot",
        "The frameworks' best@k: a bootstrap that reads lower than the best of k.",
        "k repeats drawn with replacement, 1,000 times, seed 42; mean of the highest; mean over the tasks whose own list of k holds this one. Drawing one repeat twice makes it smaller than best@k.",
        "Only for comparison with their curves: 1 right of 4 reads 0.687 at k = 4, where the chance that one of the four is right is 1.",
        "best@k for the unbiased number",
        "1 of 4 right: best_boot@4 = 0.687",
        verl="best@{k}/mean",
        trinity="best@{k}",
    ),
    _Statistic(
        "best_boot_std",
        "Spread of the frameworks' best@k over its draws.",
        "standard deviation (ddof 0) of the highest over the 1,000 draws, then the mean over tasks: noise of the resampling, not of the evaluation.",
        "Not an error bar. Use /ci_low and /ci_high of mean@n.",
        "mean@n with its interval",
        "0.366",
        good="context",
        verl="best@{k}/std",
    ),
    _Statistic(
        "worst_boot",
        "The frameworks' worst@k: a bootstrap that reads higher than the worst of k.",
        "k repeats drawn with replacement, 1,000 times, seed 42; mean of the lowest; mean over tasks.",
        "Only for comparison with their curves.",
        "worst@k for the unbiased number",
        "(0.8, 0.9): worst_boot@2 = 0.823",
        verl="worst@{k}/mean",
        trinity="worst@{k}",
    ),
    _Statistic(
        "worst_boot_std",
        "Spread of the frameworks' worst@k over its draws.",
        "standard deviation (ddof 0) of the lowest over the 1,000 draws, then the mean over tasks.",
        "Not an error bar.",
        "mean@n with its interval",
        "0.068",
        good="context",
        verl="worst@{k}/std",
    ),
    _Statistic(
        "maj_boot",
        "The frameworks' maj@k: a vote among resampled tries.",
        "k repeats drawn with replacement, 1,000 times, seed 42; score of the first drawn repeat with the most frequent answer, a tie going to the answer drawn first; mean over tasks.",
        "Only for comparison with their curves.",
        "maj@k for the exact number",
        "0.216",
        verl="maj@{k}/mean",
    ),
    _Statistic(
        "maj_boot_std",
        "Spread of the frameworks' maj@k over its draws.",
        "standard deviation (ddof 0) of the vote's score over the 1,000 draws, then the mean over tasks.",
        "Not an error bar.",
        "mean@n with its interval",
        "0.397",
        good="context",
        verl="maj@{k}/std",
    ),
)


def _names(section: str, s: _Statistic) -> list[Name]:
    """A framework's key belongs to the section it is written under; the eval entry also answers for veRL's, to be found without one."""
    head = f"{section}/{{set}}/{{score}}/"
    found: list[Name] = []
    if s.verl and section.startswith("val-"):
        found.append(verl(head + s.verl, note=s.note))
    if s.trinity and section in ("eval", "bench"):
        found.append(trinity(head + s.trinity, note=s.note))
        found.append(
            trinity(
                head + s.trinity + "/{mean,max,min,std}",
                note="monitor.detailed_stats: instead of the plain key there, beside it here",
            )
        )
    return found + list(s.more if section == "eval" else ())


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
