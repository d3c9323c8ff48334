"""docs/metrics: the glossary, one page per section, and an index that opens with what to watch."""

from __future__ import annotations

from collections import Counter, defaultdict

from rollscope.catalog.guidance import SCENARIOS, SYMPTOMS
from rollscope.catalog.names.dialect import dialect_of
from rollscope.catalog.names.resolve import resolve
from rollscope.catalog.sections import SECTIONS, Section, section_of
from rollscope.catalog.spec import METRICS, Metric

GOOD = {"up": "higher is better", "down": "lower is better", "context": "depends on context"}
BY_OUTCOME = "also for generated, trained and discarded samples"
INTRODUCTION = """\
An RL log has hundreds of numbers, and nobody reads them all. Four questions sort them: does the
model get **better** (evaluation, reward), is training **stable** (entropy, KL, clipping, gradient),
does the **data** still teach something (groups, lengths, discards), and is it **fast** (time,
throughput)? Start with what to watch for your algorithm. When something looks wrong, start with the
symptom."""
HOW_TO_READ = f"""\
The first line of an entry says what the number is. *Definition* gives the formula and says which
tokens, samples or groups are counted. *Read* says how to judge the number, and *Check* what to look
at when it moves. *Elsewhere* lists the names in frameworks: `=` is the same number, `≠` is another
quantity under a similar name, with the difference.

`{{word}}` in a name stands for any text. A distribution has one name per statistic
(`/mean /std /min /max /p05 /p50 /p95`); standard deviations have ddof 1 unless the entry says
otherwise, and quantiles come from fixed buckets and are within 1 %. Entries marked *{BY_OUTCOME}*
exist as `<name>/generated`, `<name>/trained` and `discarded/<name>` if the run says which samples
were trained on and which were discarded, and otherwise under their plain name. Missing data is NaN,
never 0."""


def pages() -> dict[str, str]:
    """File name in docs/metrics -> text."""
    resolve("policy/entropy")  # fills the catalogue
    by_section: dict[str, list[Metric]] = defaultdict(list)
    for m in METRICS.values():
        by_section[section_of(m.name).key].append(m)
    sections = [section for section in SECTIONS if section.key in by_section]
    return {
        "README.md": _index(sections, by_section),
        **{f"{s.key}.md": _page(s, sorted(by_section[s.key], key=lambda m: m.name)) for s in sections},
    }


def _index(sections: list[Section], by_section: dict[str, list[Metric]]) -> str:
    lines = [
        "# Metrics",
        "",
        f"`make docs` writes these pages from the {len(METRICS)} entries of the catalogue. "
        "`rollscope explain NAME` prints an entry in the terminal, by our name or by any framework's.",
        "",
        INTRODUCTION,
        "",
        "[What to watch](#what-to-watch) · [When something looks wrong](#when-something-looks-wrong) · "
        "[Sections](#sections) · [How to read an entry](#how-to-read-an-entry)",
        "",
        *_watch(),
        *_symptoms(),
        "## Sections",
        "",
        "| section | about | entries |",
        "|---|---|---|",
        *(f"| [{s.title}]({s.key}.md) | {s.about} | {len(by_section[s.key])} |" for s in sections),
        "",
        "## How to read an entry",
        "",
        HOW_TO_READ,
        "",
        "[The names in the published guides](../names.md) lists statements of those guides that the code contradicts.",
    ]
    return "\n".join(lines) + "\n"


def _watch() -> list[str]:
    lines = ["## What to watch", ""]
    for s in SCENARIOS:
        lines += [f"### {s.title}", "", "| for | metric | why |", "|---|---|---|"]
        lines += [f"| {w.concern} | {_link(w.metric)} | {w.why} |" for w in s.watch]
        lines += ["", f"Source: {s.source}.", ""]
    return lines


def _symptoms() -> list[str]:
    lines = [
        "## When something looks wrong",
        "",
        "| you see | check first | then | it usually means |",
        "|---|---|---|---|",
    ]
    for s in SYMPTOMS:
        first, then = ("<br>".join(f"{_link(m)}: {question}" for m, question in rows) for rows in (s.first, s.then))
        lines.append(f"| {s.sees} | {first} | {then} | {s.means} |")
    return [*lines, ""]


def _link(name: str) -> str:
    """A metric name with a link to its entry; one that a framework logs is a row of its page."""
    entry = resolve(name).entry
    place = "" if entry.producer == "framework" else f"#{_anchor(entry.name)}"
    return f"[`{name}`]({section_of(entry.name).key}.md{place})"


def _anchor(name: str) -> str:
    """The anchor that GitHub gives the heading of an entry."""
    return "".join(c for c in name.lower() if c.isalnum() or c in "-_")


def _page(section: Section, entries: list[Metric]) -> str:
    described = [m for m in entries if m.producer != "framework"]
    logged = [m for m in entries if m.producer == "framework"]
    _require_unique_anchors(described)
    lines = [f"# {section.title}", "", section.about, "", "[All sections](README.md#sections)", ""]
    if described:
        lines += ["| metric | meaning | unit |", "|---|---|---|"]
        lines += [f"| [`{m.name}`](#{_anchor(m.name)}) | {m.meaning} | {m.unit} |" for m in described]
        lines.append("")
    for m in described:
        lines += _entry(m)
    return "\n".join([*lines, *(_as_logged(logged) if logged else [])]).rstrip("\n") + "\n"


def _require_unique_anchors(entries: list[Metric]) -> None:
    twice = [anchor for anchor, n in Counter(_anchor(m.name) for m in entries).items() if n > 1]
    assert not twice, f"two entries of one page have the anchor {twice[0]}"


def _entry(m: Metric) -> list[str]:
    kind = m.kind + (f" ({', '.join(m.stats)})" if m.stats else "")
    facts = [
        m.unit,
        GOOD.get(m.good, m.good),
        *_range(m),
        kind,
        *([BY_OUTCOME] if m.scoped else []),
        f"from {m.producer}",
    ]
    lines = [
        f"## `{m.name}`",
        "",
        f"{m.meaning}  ",
        f"*{' · '.join(facts)}*",
        "",
        f"- **Definition** {m.definition}",
        f"- **Read** {m.read}",
        f"- **Check** {_checks(m)}",
    ]
    lines += [f"- **Example** {m.example}"] if m.example else []
    lines += [f"- **Alarm** {a.condition}: {a.says} ({a.severity}; {a.source})" for a in m.alarms]
    lines += [f"- **Made from** {', '.join(f'`{n}`' for n in m.needs)}"] if m.needs else []
    return [*lines, *_names(m), ""]


def _checks(m: Metric) -> str:
    """The things to look at, as one line: a question ends itself, anything else ends with a
    mark.
    """
    *first, last = m.check
    ended = [item if item.endswith("?") else f"{item};" for item in first]
    return " ".join([*ended, last if last.endswith("?") else f"{last}."])


def _range(m: Metric) -> list[str]:
    low, high = m.range
    if low is None and high is None:
        return []
    return [f"{'−∞' if low is None else f'{low:g}'} to {'∞' if high is None else f'{high:g}'}"]


def _names(m: Metric) -> list[str]:
    lines = []
    for n in m.names:
        scale = f", × {n.scale:g}" if n.scale != 1 else ""
        note = f": {n.note}" if n.note else ""
        lines.append(f"    - {'=' if n.same else '≠'} {dialect_of(n)} `{n.key}`{scale}{note}")
    return ["- **Elsewhere**", *lines] if lines else []


def _as_logged(entries: list[Metric]) -> list[str]:
    """Entries that only a framework can know, one row each."""
    rows = []
    for m in entries:
        keys = "<br>".join(f"{dialect_of(n)} `{n.key}`" for n in m.names)
        rows.append(f"| `{m.name}` | {m.meaning} {m.read} | {m.unit} | {keys} |")
    return [
        "## Recorded as logged",
        "",
        "Only the framework itself knows these quantities. They are recorded as it logs them; nothing is computed.",
        "",
        "| metric | meaning and how to read it | unit | logged as |",
        "|---|---|---|---|",
        *rows,
    ]
