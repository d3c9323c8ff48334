"""Every table and column, declared once: Arrow types, SQL, log rows and documentation follow.

Times are integer nanoseconds since the epoch and end in `_ns`; durations are seconds and end in
`_seconds`. Any column but the first few may be null. Null means "unknown": it is not 0 and not NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Type = Literal["string", "int64", "float64", "bool", "json", "float64[]", "int64[]", "float32[]"]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type
    doc: str
    big: bool = False  # text or token array: stored in a file of its own, so other columns read fast


RUNS = (
    Column("id", "string", "run id, also the name of its folder"),
    Column("name", "string", "name given by a person"),
    Column("project", "string", "project"),
    Column("group", "string", "runs that belong together"),
    Column("tags", "json", "list of words"),
    Column("algorithm", "string", "grpo, ppo, dpo, ..."),
    Column("framework", "string", "dialect of the names logged: framework[:trainer][@version]"),
    Column("state", "string", "running, finished, crashed, or killed (inferred from silence)"),
    Column("reason", "string", "why it crashed, in one line"),
    Column("started_ns", "int64", "first recorded time"),
    Column("ended_ns", "int64", "last recorded time"),
    Column("step", "int64", "last step"),
    Column("steps_planned", "int64", "number of planned steps"),
    Column("attempt", "int64", "number of the current attempt, from 1"),
    Column("hears_stop", "int64", "the last attempt that honours a request to stop"),
    Column("parent", "string", "run it was forked from"),
    Column("parent_step", "int64", "step at which it was forked"),
    Column("config", "json", "configuration"),
    Column("environment", "json", "git, host, packages, command line"),
    Column("declared", "json", "ranges per environment and metric"),
)

STEPS = (
    Column("run", "string", "run id"),
    Column("step", "int64", "optimiser update"),
    Column("time_ns", "int64", "time of the first row of the step"),
    Column("end_ns", "int64", "time of its commit, or of its last row"),
    Column("writer", "string", "process that wrote the row"),
    Column("attempt", "int64", "number of the attempt"),
    Column("explore_step", "int64", "rollout step of an asynchronous explorer"),
    Column("env_steps", "int64", "environment steps so far"),
    Column("tokens", "int64", "tokens so far"),
    Column("samples", "int64", "samples so far"),
    Column("epoch", "float64", "passes over the data so far"),
    Column("policy_version", "int64", "version before this update"),
)

METRICS = (
    Column("run", "string", "run id"),
    Column("step", "int64", "optimiser update"),
    Column("time_ns", "int64", "time of logging"),
    Column("name", "string", "name as logged"),
    Column("value", "float64", "the number; NaN and infinities are stored as such"),
    Column("weight", "float64", "number of tokens, samples or groups behind it; 0 = no data; null = a plain number"),
    Column("kind", "string", "scalar, int, or the kind of the partial"),
    Column(
        "state",
        "float64[]",
        "the state of the partial; null for a scalar; [v >> 32, v & 0xffffffff] for an int",
    ),
    Column("writer", "string", "process that wrote the row"),
    Column("rank", "int64", "data-parallel shard"),
    Column("attempt", "int64", "number of the attempt"),
    Column("env", "string", "environment of the value, if it is of a single one"),
    Column("split", "string", "train or eval"),
    Column("clock", "string", "the clock that `step` counts, if not optimiser updates"),
)

SAMPLES = (
    Column("run", "string", "run id"),
    Column("id", "string", "sample id; rows with the same id are one sample"),
    Column("step", "int64", "update that consumed it, or that was being prepared when it was discarded"),
    Column("time_ns", "int64", "time of its first row"),
    Column("writer", "string", "process that wrote the row"),
    Column("attempt", "int64", "number of the attempt"),
    Column("group", "string", "samples of one prompt in one step"),
    Column("task", "string", "the prompt, stable over the run"),
    Column("repeat", "int64", "number within the group"),
    Column("env", "string", "environment"),
    Column("split", "string", "train or eval"),
    Column("reward", "float64", "number that advantages are computed from"),
    Column("score", "float64", "score from the environment"),
    Column("rewards", "json", "component -> value"),
    Column("advantage", "float64", "mean advantage of the sample"),
    Column("sample_metrics", "json", "name -> value"),
    Column("tags", "json", "words, or name -> word"),
    Column("prompt_tokens", "int64", ""),
    Column("completion_tokens", "int64", "tokens the policy sampled, over all turns"),
    Column("response_tokens", "int64", "every token after the prompt"),
    Column("stop_reason", "string", "stop, length, tool, max_turns, aborted, error, cancelled, ..."),
    Column("turns", "int64", "policy generations"),
    Column("tool_calls", "int64", ""),
    Column("tool_failures", "int64", ""),
    Column("policy_version_min", "int64", "version of the oldest weights that wrote a token"),
    Column("policy_version_max", "int64", "version of the newest weights that wrote a token"),
    Column("off_policy_steps", "int64", "staleness when trained"),
    Column("trained", "bool", "true if it is in the loss; null = not yet known"),
    Column("discard_reason", "string", "why it is not in the loss"),
    Column("generate_seconds", "float64", ""),
    Column("tool_seconds", "float64", ""),
    Column("reward_seconds", "float64", ""),
    Column("reward_version", "string", "version of the reward function or model"),
    Column("error", "string", "the exception, if there was one"),
    Column("media", "json", "list of {kind, path} below the run's folder"),
    Column("extra", "json", "further keys of the caller"),
    Column("prompt", "string", "prompt text", big=True),
    Column("completion", "string", "completion text", big=True),
    Column("messages", "json", "chat messages, if it is a chat", big=True),
    Column("answer", "string", "reference answer", big=True),
    Column("token_ids", "int64[]", "completion token ids", big=True),
    Column("logp", "float32[]", "log-probabilities of the current policy", big=True),
    Column("old_logp", "float32[]", "", big=True),
    Column("rollout_logp", "float32[]", "", big=True),
    Column("ref_logp", "float32[]", "", big=True),
    Column("entropy", "float32[]", "", big=True),
    Column("token_advantages", "float32[]", "", big=True),
    Column("action_mask", "int64[]", "1 where the policy sampled the token", big=True),
    Column("tokens", "json", "token texts, if known", big=True),
)

TURNS = (
    Column("run", "string", "run id"),
    Column("sample", "string", "sample id"),
    Column("turn", "int64", "from 0"),
    Column("step", "int64", "step of the sample"),
    Column("time_ns", "int64", ""),
    Column("writer", "string", ""),
    Column("attempt", "int64", ""),
    Column("role", "string", "system, user, assistant, tool, environment"),
    Column("tool", "string", "tool name, for a call"),
    Column("ok", "bool", "true if the call succeeded"),
    Column("seconds", "float64", ""),
    Column("tokens", "int64", ""),
    Column("stop_reason", "string", ""),
    Column("content", "string", "text of the turn", big=True),
    Column("arguments", "string", "of a tool call; of an answer that calls tools, its calls", big=True),
    Column("result", "string", "of a tool call", big=True),
)

SPANS = (
    Column("run", "string", "run id"),
    Column("id", "int64", "unique within its writer"),
    Column("parent", "int64", "enclosing span of the same writer"),
    Column("name", "string", "generate, forward, wait, ..."),
    Column("lane", "string", "trainer/0, inference/3, ..."),
    Column("kind", "string", "work or wait"),
    Column("start_ns", "int64", ""),
    Column("end_ns", "int64", ""),
    Column("step", "int64", ""),
    Column("microbatch", "int64", ""),
    Column("minibatch", "int64", ""),
    Column("group", "string", ""),
    Column("sample", "string", ""),
    Column("writer", "string", ""),
    Column("rank", "int64", ""),
    Column("attempt", "int64", ""),
    Column("data", "json", "further keys of the caller"),
    Column("version", "int64", "weights that a generation ran with, or that a weight update brought"),
    Column("queued_ns", "int64", "when the work entered its queue"),
    Column("causes", "json", "spans that had to end first: keys `writer:id`, or ids of its own writer"),
)

HOST = (
    Column("run", "string", "run id"),
    Column("time_ns", "int64", ""),
    Column("host", "string", ""),
    Column("device", "string", "cpu, disk, net, gpu0, engine name, ..."),
    Column("name", "string", "quantity"),
    Column("value", "float64", ""),
    Column("writer", "string", ""),
    Column("attempt", "int64", ""),
)

EVALS = (
    Column("run", "string", "run id"),
    Column("step", "int64", ""),
    Column("time_ns", "int64", ""),
    Column("set", "string", "name of the evaluation set"),
    Column("task", "string", ""),
    Column("repeat", "int64", ""),
    Column("scores", "json", "score name -> value"),
    Column("answer", "string", ""),
    Column("failed", "bool", ""),
    Column("turns", "int64", ""),
    Column("tokens", "int64", ""),
    Column("stop_reason", "string", ""),
    Column("seconds", "float64", ""),
    Column("sample", "string", "sample id"),
    Column("cluster", "string", "tasks of one source: they are no independent evidence"),
    Column("tags", "json", "list of words"),
    Column("writer", "string", ""),
    Column("attempt", "int64", ""),
)

FINDINGS = (
    Column("run", "string", "run id"),
    Column("rule", "string", "rule that found it"),
    Column("severity", "string", "bad, watch or info"),
    Column("step", "int64", "first step"),
    Column("until", "int64", "last step, if it ended"),
    Column("claim", "string", "one sentence"),
    Column("evidence", "json", "numbers and series"),
    Column("time_ns", "int64", ""),
    Column("writer", "string", ""),
    Column("attempt", "int64", ""),
)

NOTES = (
    Column("run", "string", "run id"),
    Column("step", "int64", ""),
    Column("time_ns", "int64", ""),
    Column("text", "string", ""),
    Column("kind", "string", "note, warning, loss (rows that were dropped), hidden finding, stop, checkpoint"),
    Column("data", "json", ""),
    Column("writer", "string", ""),
    Column("attempt", "int64", ""),
)

SCANS = (
    Column("run", "string", "run id"),
    Column("sample", "string", "sample id"),
    Column("step", "int64", "step of the sample"),
    Column("split", "string", "split of the sample"),
    Column("time_ns", "int64", "time of the scan; of rows with the same sample and name the newest counts"),
    Column("name", "string", "scanner, or scanner/part"),
    Column("value", "float64", "the number it gave; 1 or 0 for yes or no; null if it gave a label or nothing"),
    Column("label", "string", "the word it gave"),
    Column("code", "string", "hash of the scanner's file"),
    Column("writer", "string", ""),
    Column("attempt", "int64", "attempt of the sample"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "runs": RUNS,
    "steps": STEPS,
    "metrics": METRICS,
    "samples": SAMPLES,
    "turns": TURNS,
    "spans": SPANS,
    "host": HOST,
    "evals": EVALS,
    "findings": FINDINGS,
    "notes": NOTES,
    "scans": SCANS,
}

# The big columns of a sample: budgets thin them, and a full queue drops them first.
TOKEN_COLUMNS = frozenset(c.name for c in SAMPLES if c.big and c.type.endswith("[]")) | {"tokens"}
TEXT_COLUMNS = frozenset(c.name for c in SAMPLES if c.big) - TOKEN_COLUMNS
TURN_TEXT_COLUMNS = frozenset(c.name for c in TURNS if c.big)
