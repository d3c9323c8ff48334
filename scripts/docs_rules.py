"""docs/rules.md: every rule of the doctor, from its docstring."""

from __future__ import annotations

from rollscope.diagnose import all_rules
from rollscope.diagnose.rule import Rule

HEAD = """# What the doctor looks for

`make docs` writes this page from `src/rollscope/diagnose/rules/`. `rollscope doctor RUN` runs every rule whose \
metrics the run logs. Findings about liveness come before findings about the signal. Tuning advice is held back while \
something is bad.
"""


def page() -> str:
    rules = sorted(all_rules().values(), key=lambda rule: (rule.order != "liveness", rule.name))
    return "\n".join([HEAD, *map(_section, rules)])


def _section(rule: Rule) -> str:
    needs = " and ".join(" or ".join(f"`{name}`" for name in names) for names in rule.needs) or "every metric"
    optional = ", ".join(f"`{names[0]}`" for names in rule.optional)
    reads = f"Reads {needs}; also {optional}." if optional else f"Reads {needs}."
    return f"## {rule.name}\n\n**{rule.title}** {rule.teaches}\n\n{reads}\n"
