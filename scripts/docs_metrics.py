"""docs/metrics.md: the glossary, for somebody who opens an RL log for the first time."""

from __future__ import annotations

from collections import defaultdict

from rollscope.catalog.guidance import SCENARIOS, SYMPTOMS
from rollscope.catalog.names.dialect import dialect_of
from rollscope.catalog.names.published import CORRECTIONS
from rollscope.catalog.names.resolve import resolve
from rollscope.catalog.spec import METRICS, Metric

SECTIONS: dict[str, tuple[str, str]] = {  # in reading order: the section, its title, what the section is about
    "eval": ("Evaluation", "Did the model get better? Held-out tasks, answered several times each. Look here first."),
    "reward": (
        "Reward",
        "What the policy earns. `generated` counts every sample, `trained` only those the update used: the gap is what filtering hides.",
    ),
    "score": ("Score", "What the environment or the reward model gave, before shaping and penalties."),
    "reward_component": (
        "Reward components",
        "The parts a total reward is made of. Two runs with equal totals can be learning different things.",
    ),
    "sample_metric": ("Sample metrics", "Whatever an environment reports per sample."),
    "task_reward": ("Reward by task", "Each prompt counts once, however many answers it got."),
    "group": (
        "Groups",
        "Several answers to one prompt are a group; what differs inside it is the only thing GRPO-like methods learn from.",
    ),
    "advantage": ("Advantage", "How much better than expected a token or a sample was; what the update multiplies."),
    "policy": (
        "Policy",
        "How the policy moves: losses, entropy, distances to where it was, and how often the trust region binds.",
    ),
    "optimiser": ("Optimiser", "The step itself."),
    "critic": ("Critic", "The value function, where there is one. Advantages are only as good as it is."),
    "length": ("Length", "How long prompts and answers are, and how many are cut."),
    "stop": ("Stop reasons", "Why generation ended."),
    "turns": ("Turns", "For agents: how many times the policy spoke."),
    "tool": ("Tools", "Calls, failures and time."),
    "discarded": ("Discarded", "What was generated and not trained on, and why."),
    "staleness": ("Staleness", "How old the weights were that wrote a sample."),
    "preference": ("Preference optimisation", "DPO, KTO, SimPO and their kin."),
    "reward_model": ("Reward model", "Training the judge."),
    "sft": ("Supervised fine-tuning", "Next-token training, before or beside RL."),
    "env": ("Embodied environments", "Episodes in simulators and on robots."),
    "balance": ("Balance", "How evenly tokens are spread over ranks."),
    "time": ("Time", "Where a step's seconds go."),
    "time_per_token": ("Time per token", "The same, made comparable between runs with different lengths."),
    "perf": ("Performance", "Tokens, throughput, and how much of the hardware is used."),
    "counter": ("Counters", "Running totals, which survive a resume."),
    "pipeline": ("Data pipeline", "What happens to samples between rollout and update."),
    "sampling": ("Sampling", "What the trainer draws from the buffer."),
    "host": ("Host", "The machine."),
    "engine": ("Inference engine", "The server that generates."),
}

FEW = 4  # sections with more entries open with a table


def page() -> str:
    resolve("policy/entropy")  # fills the catalogue
    by_section: dict[str, list[Metric]] = defaultdict(list)
    for m in METRICS.values():
        if m.producer != "framework":
            by_section[m.section].append(m)
    order = [s for s in SECTIONS if s in by_section] + sorted(set(by_section) - set(SECTIONS))
    out = [*_opening(len(METRICS)), *_contents(order, by_section), *_watch(), *_symptoms()]
    for section in order:
        out += _section(section, sorted(by_section[section], key=lambda m: m.name))
    return "\n".join([*out, *_as_logged(), *_corrections()]) + "\n"


def _opening(count: int) -> list[str]:
    return [
        "# Metrics",
        "",
        f"Made from the catalogue's {count} entries by `make docs`. `rollscope explain NAME` prints any of them in the terminal, by our name or by any framework's.",
        "",
        "An RL log has hundreds of numbers, and nobody reads them all. Four questions order them: does the model get **better** (evaluation, reward), is training **stable** (entropy, KL, clipping, gradient), is the **data** still teaching something (groups, lengths, discards), and is it **fast** (time, throughput). "
        "Start with what to watch for your algorithm below; when something looks wrong, start with the symptom.",
        "",
        "How to read an entry: the first line says what the number is; *counts* says which tokens, samples or groups go in; *read* how to judge it, *check* what to look at when it moves. A list of names follows: `=` is the same number in that framework, `≠` is another quantity under a similar name, with the difference. "
        "`{word}` in a name stands for anything. A distribution has one name for each statistic (`/mean /std /min /max /p05 /p50 /p95`; standard deviations have ddof 1 unless said otherwise, quantiles come from fixed buckets and are within 1 %). Entries marked *by fate* exist as `<name>/generated`, `<name>/trained` and `discarded/<name>` where it is known what became of the samples, and under their plain name where it is not. "
        "No data is NaN, never 0.",
        "",
    ]


def _contents(order: list[str], by_section: dict[str, list[Metric]]) -> list[str]:
    links = [f"[{_title(s)}](#{_anchor(_title(s))}) ({len(by_section[s])})" for s in order]
    return [
        "**Contents.** [What to watch](#what-to-watch) · [When something looks wrong](#when-something-looks-wrong) · "
        + " · ".join(links)
        + " · [Kept as logged](#kept-as-logged) · [Where guides and code part](#where-guides-and-code-part)",
        "",
    ]


def _title(section: str) -> str:
    return SECTIONS[section][0] if section in SECTIONS else section.replace("_", " ").capitalize()


def _anchor(title: str) -> str:
    return "".join(c for c in title.lower().replace(" ", "-") if c.isalnum() or c == "-")


def _watch() -> list[str]:
    out = ["## What to watch", ""]
    for s in SCENARIOS:
        out += [f"### {s.title}", "", "| for | metric | why |", "|---|---|---|"]
        out += [f"| {w.concern} | `{w.metric}` | {w.why} |" for w in s.watch]
        out += ["", f"After: {s.source}.", ""]
    return out


def _symptoms() -> list[str]:
    out = [
        "## When something looks wrong",
        "",
        "| you see | check first | then | it usually means |",
        "|---|---|---|---|",
    ]
    for s in SYMPTOMS:
        first, then = ("<br>".join(f"`{m}`: {q}" for m, q in rows) for rows in (s.first, s.then))
        out.append(f"| {s.sees} | {first} | {then} | {s.means} |")
    return [*out, ""]


def _section(section: str, entries: list[Metric]) -> list[str]:
    out = [f"## {_title(section)}", "", *([SECTIONS[section][1], ""] if section in SECTIONS else [])]
    out += (
        [
            "| metric | what it is | unit |",
            "|---|---|---|",
            *(f"| `{m.name}` | {m.meaning} | {m.unit} |" for m in entries),
            "",
        ]
        if len(entries) > FEW
        else []
    )
    for m in entries:
        out += _entry(m)
    return out


def _entry(m: Metric) -> list[str]:
    facts = [
        m.unit,
        {"up": "higher is better", "down": "lower is better", "context": "depends on context"}.get(m.good, m.good),
        *_range(m),
        m.kind + (f" ({', '.join(m.stats)})" if m.stats else ""),
        *(["by fate"] if m.scoped else []),
        f"from {m.producer}",
    ]
    out = [
        f"### `{m.name}`",
        "",
        f"{m.meaning}  ",
        f"*{' · '.join(facts)}*",
        "",
        f"- **Counts** {m.definition}",
        f"- **Read** {m.read}",
        f"- **Check** {'; '.join(m.check)}.",
    ]
    out += [f"- **Example** {m.example}"] if m.example else []
    out += [f"- **Alarm** {a.condition}: {a.says} ({a.severity}; {a.source})" for a in m.alarms]
    out += [f"- **Made from** {', '.join(f'`{n}`' for n in m.needs)}"] if m.needs else []
    return [*out, *_names(m), ""]


def _range(m: Metric) -> list[str]:
    low, high = m.range
    return (
        []
        if low is None and high is None
        else [f"{'−∞' if low is None else f'{low:g}'} to {'∞' if high is None else f'{high:g}'}"]
    )


def _names(m: Metric) -> list[str]:
    out = []
    for n in m.names:
        scale = f", × {n.scale:g}" if n.scale != 1 else ""
        out.append(f"    - {'=' if n.same else '≠'} {dialect_of(n)} `{n.key}`{scale}{': ' + n.note if n.note else ''}")
    return ["- **Elsewhere**", *out] if out else []


def _as_logged() -> list[str]:
    """What only a framework itself can know is kept under its name: one line each."""
    rows = []
    for m in sorted((m for m in METRICS.values() if m.producer == "framework"), key=lambda m: m.name):
        rows.append(
            f"| `{m.name}` | {m.meaning} {m.read} | {m.unit} | {'<br>'.join(f'{dialect_of(n)} `{n.key}`' for n in m.names)} |"
        )
    return [
        "## Kept as logged",
        "",
        "Quantities of one algorithm or one framework's machinery, which no batch contains. They are recorded as the framework logs them and explained here, and nothing is computed.",
        "",
        "| metric | what it is and how to read it | unit | logged as |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def _corrections() -> list[str]:
    rows = [f"| {c.guide} | {c.says} | {c.code} | {c.where} |" for c in CORRECTIONS]
    return [
        "## Where guides and code part",
        "",
        "Statements in the published guides that the code of those frameworks contradicts.",
        "",
        "| guide | it says | the code does | read in |",
        "|---|---|---|---|",
        *rows,
    ]
