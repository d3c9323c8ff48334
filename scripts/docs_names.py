"""docs/names.md: how a name finds its number, and each name in the published guides.

A name has its entry, its inputs and its producer beside it.
"""

from __future__ import annotations

from rollscope.catalog.names.published import CORRECTIONS, GUIDES, Guide
from rollscope.catalog.names.resolve import resolve

INTRODUCTION = (
    "Made by `make docs`. A `≠` marks a name under which the framework logs another quantity than our entry; "
    "`rollscope explain NAME` says which."
)


RULE = """# Names

## How a name finds its number

One rule serves `run.series`, `run.buckets`, `show`, `watch`, `why`, the API, the pages and `metric('name')` in SQL. \
`run.find(name)` and `GET api/runs/{run}/find?name=` give the answer itself: the stored name, the scale, the unit, a \
warning, and how the name was read.

1. The name that the run logged is taken as it is, in the unit in which it was logged.
2. Else the name is read as ours, then in the dialect that the run speaks, then in every dialect that fits its \
algorithm. The first reading whose quantity the run holds is the answer. `dialect="trl:grpo"` comes first and alone, \
before ours.
3. The dialect that a run speaks is its framework's, else what the names that it logged are evidence of: a \
`trainer_state.json` with `frac_reward_zero_std` is TRL's GRPO, so its `kl` is `policy/kl_ref_k3`. Of trainers that \
log the same names, the more common one is meant: GRPO before RLOO. slime, miles, ROLL, NeMo-RL, SkyRL, AReaL, \
prime-rl, tinker-cookbook, ART, rLLM and ms-swift are told by their names, too, if they explain more of a run's names \
than veRL, OpenRLHF, TRL, RLinf, Trinity-RFT and Telescope do; a name without a dialect means theirs only if those six \
have no such name.
4. A name that means the same number comes before one that means another quantity. If there is only the other \
quantity, it is the answer, with a warning that says how they differ. Asked by our name, another quantity is never \
given.
5. A distribution without a statistic is its mean (`reward` is `reward/mean`). An operator needs no position \
(`pipeline/operator/reward_filter/in`).
6. A name without a scope counts the trained samples where their fate is known (`reward/mean` is \
`reward/trained/mean`), else the generated ones; a framework's name counts the samples that the framework counts.
7. An evaluation's name (`eval_reward`) never means a training series. Evaluations are computed alike under `eval/`, \
`bench/`, `val-core/` and `val-aux/`, and `acc` is `accuracy`: what the run does not hold under one of them is found \
under another, so `val-core/gsm8k/acc/mean@4` finds `eval/gsm8k/accuracy/mean@4`, and says so.
8. `*` and `{word}` match anything, `{mean,max}` is a choice: `show --metric 'critic/rewards/{mean,max}'`.
9. Numbers are in the unit of the name that was asked for: `timing_per_token_ms/gen` in ms/token, \
`time_per_token/generate` in s/token, whichever of them was logged.

In SQL, `metric('name')` after FROM is a table with run, step, time_ns, value, weight, min, max, name, unit and \
warning, one row a step: `SELECT step, value FROM metric('critic/rewards/mean')`. In a condition it is the \
stored name: `SELECT * FROM metrics WHERE name = metric('kl')`.
"""


def page() -> str:
    lines = [RULE, "## The names in the published guides", "", INTRODUCTION, ""]
    for guide in GUIDES:
        lines += [*_section(guide), ""]
    lines += [
        "## Where the guides and the code differ",
        "",
        "| guide | it says | the code does | read in |",
        "|---|---|---|---|",
    ]
    lines += [f"| {c.guide} | {c.says} | {c.code} | {c.where} |" for c in CORRECTIONS]
    return "\n".join(lines) + "\n"


def _section(guide: Guide) -> list[str]:
    return [
        f"### {guide.name}",
        "",
        "| name | our entry | | made from | produced by |",
        "|---|---|---|---|---|",
        *(_row(name, guide.dialect) for name in guide.metrics),
    ]


def _row(name: str, dialect: str | None) -> str:
    match = resolve(name, dialect)
    other = "" if match.same else "≠"
    return f"| `{name}` | `{match.name}` | {other} | {', '.join(match.entry.needs)} | {match.entry.producer} |"
