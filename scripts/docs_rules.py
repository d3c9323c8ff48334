"""docs/rules.md: every rule of the doctor, from its docstring."""

from __future__ import annotations

from rollscope.diagnose import all_rules
from rollscope.diagnose.needs import Need, SeriesOf
from rollscope.diagnose.rule import ORDERS, Rule

TITLES = {
    "liveness": "Does the run live?",
    "environment": "Are environment, grader and data sound?",
    "waste": "Is work thrown away?",
    "signal": "Does the policy learn what it should?",
    "tuning": "Could the same run be cheaper?",
}
HEAD = """# What the doctor looks for

`make docs` writes this page from `src/rollscope/diagnose/rules/`. `rollscope doctor RUN` runs every rule that has \
what it needs, and names what the others lack. A rule compares a run with its own opening, the first 25 points at \
most. Findings that explain each other are told as one story, the cause first. Tuning advice is held back while \
something is bad.

A project sets thresholds in `.rollscope/doctor.toml` beside its folder of runs, each table with a reason. Findings, \
`rollscope doctor` and `rollscope doctor --rules` show them.

```toml
[truncation]
watch = 0.3
reason = "Answers are long here, and overlong ones are masked."
```

Rules of a project's own are Python files in `.rollscope/rules/`. They run once `rollscope trust FOLDER` was said, and \
in a process of their own. `--rule-file FILE` runs one unasked. `rollscope.diagnose.testing.check` tries a rule on \
tables.

A finding that wasted work says what share of the run it cost. With `run.declare(gpus=8, gpu_hour_price=2.5, \
currency="EUR")`, or the same words in the configuration, it says GPU-hours and money. The useful share of the tokens \
generated stands on the Overview.
"""


def page() -> str:
    rules = sorted(all_rules().values(), key=lambda rule: rule.name)
    parts = [(order, [rule for rule in rules if rule.order == order]) for order in ORDERS]
    sections = [f"## {TITLES[order]}\n\n" + "\n".join(map(_section, some)) for order, some in parts if some]
    return "\n".join([HEAD, *sections])


def _section(rule: Rule) -> str:
    needs = " and ".join(map(_need, rule.needs)) or "every metric"
    optional = ", ".join(map(_need, rule.optional))
    reads = f"Needs {needs}; reads also {optional}." if optional else f"Needs {needs}."
    limits = ", ".join(f"`{name}` {value:g}" for name, value in rule.thresholds.items())
    set_by = f" Thresholds: {limits}." if limits else ""
    return f"### {rule.name}\n\n**{rule.title}** {rule.teaches}\n\n{reads}{set_by}\n"


def _need(need: Need) -> str:
    return " or ".join(f"`{name}`" for name in need) if isinstance(need, SeriesOf) else need.says
