"""Every table and column, declared once. Arrow types, SQL, the log's rows, documentation and the wire are made from this.

Times are integer nanoseconds since the epoch and end in `_ns`; durations are seconds and end in
`_seconds`. Any column but the first few may be null: null is "not said", which is not 0 and not
NaN.
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
    big: bool = False  # text and token arrays: kept in files of their own, so that narrow questions stay fast


RUNS = (
    Column("id", "string", "run id, also the name of its folder"),
    Column("name", "string", "what a person called it"),
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
    Column("steps_planned", "int64", "how many steps were asked for"),
    Column("attempt", "int64", "how often it was resumed"),
    Column("parent", "string", "run it was forked from"),
    Column("parent_step", "int64", "and the step"),
    Column("config", "json", "configuration"),
    Column("environment", "json", "git, host, packages, command line"),
    Column("declared", "json", "ranges per environment and metric"),
)

STEPS = (
    Column("run", "string", "run id"),
    Column("step", "int64", "optimiser update"),
    Column("time_ns", "int64", "when the step was first heard of"),
    Column("end_ns", "int64", "when it was committed or last heard of"),
    Column("writer", "string", "process that wrote the row"),
    Column("attempt", "int64", "which resume"),
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
    Column("time_ns", "int64", "when it was logged"),
    Column("name", "string", "name as logged"),
    Column("value", "float64", "the number; NaN and infinities are kept"),
    Column("weight", "float64", "how many tokens, samples or groups it stands on; 0 = no data; null = a plain number"),
    Column("kind", "string", "scalar, int, or the kind of the partial"),
    Column(
        "state",
        "float64[]",
        "the partial's numbers, from which it can be merged; null for a scalar; [v >> 32, v & 0xffffffff] for an int",
    ),
    Column("writer", "string", "process that wrote the row"),
    Column("rank", "int64", "data-parallel shard"),
    Column("attempt", "int64", "which resume"),
    Column("env", "string", "environment the value is of, if of one"),
    Column("split", "string", "train or eval"),
    Column("clock", "string", "which clock `step` counts, if not the optimiser's"),
)

SAMPLES = (
    Column("run", "string", "run id"),
    Column("id", "string", "sample id; rows with the same id are one sample"),
    Column("step", "int64", "update that consumed it, or was being prepared when it was discarded"),
    Column("time_ns", "int64", "first heard of"),
    Column("writer", "string", "process that wrote the row"),
    Column("attempt", "int64", "which resume"),
    Column("group", "string", "this attempt at the prompt"),
    Column("task", "string", "the prompt, stable over the run"),
    Column("repeat", "int64", "which repeat in the group"),
    Column("env", "string", "environment"),
    Column("split", "string", "train or eval"),
    Column("reward", "float64", "what advantages were made from"),
    Column("score", "float64", "what the environment gave"),
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
    Column("policy_version_min", "int64", "oldest weights that wrote a token of it"),
    Column("policy_version_max", "int64", "newest"),
    Column("off_policy_steps", "int64", "staleness when trained"),
    Column("trained", "bool", "in the loss or not; null = not yet known"),
    Column("discard_reason", "string", "why not"),
    Column("generate_seconds", "float64", ""),
    Column("tool_seconds", "float64", ""),
    Column("reward_seconds", "float64", ""),
    Column("reward_version", "string", "version of the reward function or model"),
    Column("error", "string", "what raised, if something did"),
    Column("media", "json", "list of {kind, path} below the run's folder"),
    Column("extra", "json", "anything else that was passed"),
    Column("prompt", "string", "prompt text", big=True),
    Column("completion", "string", "completion text", big=True),
    Column("messages", "json", "chat messages, where it is a chat", big=True),
    Column("answer", "string", "reference answer", big=True),
    Column("token_ids", "int64[]", "completion token ids", big=True),
    Column("logp", "float32[]", "current policy's, per token", big=True),
    Column("old_logp", "float32[]", "", big=True),
    Column("rollout_logp", "float32[]", "", big=True),
    Column("ref_logp", "float32[]", "", big=True),
    Column("entropy", "float32[]", "", big=True),
    Column("token_advantages", "float32[]", "", big=True),
    Column("action_mask", "int64[]", "1 where the policy sampled the token", big=True),
    Column("tokens", "json", "token texts, where they are known", big=True),
)

TURNS = (
    Column("run", "string", "run id"),
    Column("sample", "string", "sample id"),
    Column("turn", "int64", "from 0"),
    Column("step", "int64", "as the sample's"),
    Column("time_ns", "int64", ""),
    Column("writer", "string", ""),
    Column("attempt", "int64", ""),
    Column("role", "string", "system, user, assistant, tool, environment"),
    Column("tool", "string", "tool name, for a call"),
    Column("ok", "bool", "did the call succeed"),
    Column("seconds", "float64", ""),
    Column("tokens", "int64", ""),
    Column("stop_reason", "string", ""),
    Column("content", "string", "what was said", big=True),
    Column("arguments", "string", "of a tool call", big=True),
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
    Column("data", "json", "anything else that was passed"),
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
    Column("writer", "string", ""),
    Column("attempt", "int64", ""),
)

FINDINGS = (
    Column("run", "string", "run id"),
    Column("rule", "string", "which rule spoke"),
    Column("severity", "string", "bad, watch or info"),
    Column("step", "int64", "since when"),
    Column("until", "int64", "until when, if it ended"),
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
    Column("kind", "string", "note, warning, loss (something could not be kept), hidden finding"),
    Column("data", "json", ""),
    Column("writer", "string", ""),
    Column("attempt", "int64", ""),
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
}

# Large columns of a sample, by what they hold: budgets thin them, and a full queue gives them up first.
TOKEN_COLUMNS = frozenset(c.name for c in SAMPLES if c.big and c.type.endswith("[]")) | {"tokens"}
TEXT_COLUMNS = frozenset(c.name for c in SAMPLES if c.big) - TOKEN_COLUMNS
TURN_TEXT_COLUMNS = frozenset(c.name for c in TURNS if c.big)
