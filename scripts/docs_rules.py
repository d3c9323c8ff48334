"""docs/rules.md: what the doctor looks for, from the rules' own docstrings."""

from __future__ import annotations

from rollscope.diagnose import all_rules


def page() -> str:
    out = [
        "# What the doctor looks for",
        "",
        "Made from `src/rollscope/diagnose/rules/` by `make docs`; `rollscope doctor RUN` asks every rule that has what it needs. "
        "Rules about liveness go before rules about the signal, and advice on tuning is held back while something is bad.",
        "",
    ]
    for r in sorted(all_rules().values(), key=lambda r: (r.order != "liveness", r.name)):
        needs = " and ".join(" or ".join(f"`{n}`" for n in names) for names in r.needs) or "every metric"
        out += [
            f"## {r.name}",
            "",
            f"**{r.title}** {r.teaches}",
            "",
            f"Reads {needs}" + (f"; also {', '.join(f'`{n[0]}`' for n in r.optional)}." if r.optional else "."),
            "",
        ]
    return "\n".join(out)
