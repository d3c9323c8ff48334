"""What is recorded of each framework: the table of docs/sources.md, and the tests that hold it.

`scripts/docs.py` writes the table from `ROWS`. A test of each row imports or records what the
framework writes, asks `recorded` what the run holds, and compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KINDS = ("numbers", "samples", "groups", "tokens", "log-probabilities", "versions", "turns", "spans", "evaluations")
LIVE, FILES, SENT = "live", "import, `--follow`", "OpenTelemetry, or its files"
DUMPS = "`rollscope run --dumps`"
LOGGED = "live, with `rollscope run`"
PACKAGE = "with the package on the CPU"
FORMAT = "with files in its format, read in its source"
OBJECTS = "with samples of the fields and in the order of calls read in its source; not run with the package"
BESIDE = "with a program that logs its names to W&B beside dumps in its format"


@dataclass(frozen=True, slots=True)
class Row:
    """A framework, and one way to record it."""

    framework: str
    way: str
    holds: frozenset[str]
    tested: str


def _row(framework: str, way: str, holds: str, tested: str) -> Row:
    return Row(framework, way, frozenset(holds.replace(",", "").split()), tested)


RLINF = (
    "with the package on the CPU: its runner, environment workers, video recorder and the batches of its actor; "
    "environments and rollouts are scripted"
)
VERL = (
    "with the package on the CPU: a training as a user starts it, with its workers on Ray and vLLM; "
    "its other trainers with a stubbed engine"
)
TRL = (
    "with the package on the CPU; GRPO and RLOO also with vLLM in the process, "
    "GRPO and its asynchronous trainer with a vLLM server"
)
READ = (
    _row(
        *("trl", LIVE),
        "numbers, samples, groups, tokens, log-probabilities, versions, turns, spans, evaluations",
        TRL,
    ),
    _row(
        *("verl", LIVE),
        "numbers, samples, groups, tokens, log-probabilities, versions, turns, spans, evaluations",
        VERL,
    ),
    _row("trl", FILES, "numbers, samples, groups, evaluations", "with files that the package wrote"),
    _row(
        *("agentlightning", SENT),
        "samples, tokens, log-probabilities, turns, spans",
        f"{PACKAGE}, and a scripted engine",
    ),
    _row(
        *("openrlhf", LIVE),
        "numbers, samples, groups, tokens, log-probabilities, versions, turns, spans, evaluations",
        "with the package's trainer and loggers on the CPU, and a stubbed engine",
    ),
    _row(
        *("rlinf", LIVE),
        "numbers, samples, groups, tokens, log-probabilities, versions, turns, spans, evaluations",
        RLINF,
    ),
    _row("rlinf", FILES, "samples, evaluations", "with videos in its folders, read in its source"),
    _row(
        *("trinity", LIVE),
        "numbers, samples, groups, tokens, log-probabilities, versions, turns, spans, evaluations",
        "with the package's own loggers, experiences and operators on the CPU",
    ),
    _row(
        "trinity", FILES, "samples, groups, tokens, log-probabilities, versions", "with a buffer that the package wrote"
    ),
    _row(
        *("telescope", FILES),
        "numbers, samples, groups, turns, spans, evaluations",
        "with archives that its own event logger wrote",
    ),
    _row(
        *("swift", LIVE),
        "numbers, samples, groups, tokens, log-probabilities, versions, turns, spans, evaluations",
        "with the package on the CPU, its transformers engine and a tiny model",
    ),
    _row(
        *("art", LIVE),
        "numbers, samples, groups, tokens, log-probabilities, versions, turns, evaluations",
        "with the package's own `model.log` on the CPU, and scripted answers",
    ),
    _row(
        *("prime_rl", LIVE),
        "samples, groups, tokens, log-probabilities, turns, evaluations",
        "with verifiers on the CPU: its environment, server and traces; a scripted model and drawn tokens",
    ),
    _row("miles", FILES, "samples, groups, tokens, log-probabilities, versions, turns", FORMAT),
    _row("slime", FILES, "samples, groups, tokens, log-probabilities, versions, evaluations", FORMAT),
    _row("nemo_rl", FILES, "samples, groups, tokens, log-probabilities, turns, evaluations", FORMAT),
    _row("roll", FILES, "samples, groups, turns", FORMAT),
    _row("rllm", FILES, "samples, groups, turns", FORMAT),
    _row("areal", FILES, "samples, groups, versions, evaluations", PACKAGE),
    _row("skyrl", FILES, "numbers, samples, groups, tokens, log-probabilities, evaluations", PACKAGE),
    _row("prime_rl", FILES, "numbers, samples, groups, tokens, log-probabilities, versions, turns", PACKAGE),
    _row("tinker", FILES, "numbers, samples, groups, versions, spans", PACKAGE),
    _row("swift", FILES, "numbers, samples, groups", PACKAGE),
    _row("art", FILES, "numbers, samples, groups, turns", PACKAGE),
)
HOOKED = tuple(
    _row(
        *(framework, LOGGED),
        "numbers, samples, groups, tokens, log-probabilities, versions, turns, evaluations",
        OBJECTS,
    )
    for framework in ("miles", "slime")
)
# Their dumps lack the numbers of training: these go to a tracker.
APART = ("areal", "miles", "nemo_rl", "rllm", "roll", "skyrl", "slime")
# Their dumps have the numbers, and a tracker may get the same.
BOTH = ("art", "prime_rl", "swift", "tinker")
ROWS = (
    *READ,
    *HOOKED,
    *(
        Row(row.framework, DUMPS, row.holds | {"numbers"}, BESIDE)
        for row in READ
        if row.framework in (*APART, *BOTH) and row.way == FILES
    ),
)


def recorded(run: Any) -> set[str]:
    """The kinds of which a run holds anything."""
    samples, metrics = run.samples(), run.metrics()
    found = {
        "numbers": len(metrics["name"]) > 0,
        "samples": len(samples["id"]) > 0,
        "groups": _any(samples, "group"),
        "tokens": _any(samples, "token_ids"),
        "log-probabilities": any(_any(samples, name) for name in ("logp", "old_logp", "rollout_logp")),
        "versions": _any(samples, "policy_version_max"),
        "turns": run.sql("select count(*) as n from turns")["n"][0] > 0,
        "spans": run.sql("select count(*) as n from spans")["n"][0] > 0,
        "evaluations": "eval" in [*samples["split"]] or _evaluated(run),
    }
    return {kind for kind, is_there in found.items() if is_there}


def _evaluated(run: Any) -> bool:
    return bool(run.sql("select count(*) as n from metrics where split = 'eval'")["n"][0] > 0)


def _any(samples: Any, name: str) -> bool:
    return any(
        value is not None and value == value if not hasattr(value, "__len__") else len(value)
        for value in samples.get(name, [])
    )


def held(framework: str, way: str = FILES) -> frozenset[str]:
    """What the table says of a framework."""
    return next(row.holds for row in ROWS if (row.framework, row.way) == (framework, way))
