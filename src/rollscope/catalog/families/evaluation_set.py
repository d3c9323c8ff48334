"""Evaluation: what is true of a set whatever the score. How much there was, how much failed, what it cost."""

from __future__ import annotations

from rollscope.catalog.reported import openrlhf, reported, telescope, trinity, trl, verl
from rollscope.catalog.spec import Alarm

from .evaluation import SECTIONS

ROWS = ("evaluation rows",)

for _section, _where in SECTIONS.items():
    if _section == "val-core":
        continue
    _eval, _trinity = _section == "eval", _section in ("eval", "bench")
    reported(
        f"{_section}/{{set}}/tasks",
        "count",
        "context",
        "Tasks of the evaluation set that were tried.",
        "number of different tasks among the rows, failed ones included." + _where,
        "Must stay the same from one evaluation to the next, or scores cannot be compared.",
        "changed data set; a crash in the middle",
        "500",
        *([trinity(f"{_section}/{{set}}/finished_task_count", note="counts failed tasks, too")] if _trinity else []),
        kind="sum",
        producer="evaluate",
        needs=ROWS,
        range=(0.0, None),
    )
    reported(
        f"{_section}/{{set}}/repeats",
        "count",
        "context",
        "Repeats of all tasks together.",
        "number of evaluation rows, failed ones included." + _where,
        "Tasks times repeats when nothing is missing.",
        "eval/{set}/repeats_missing",
        "4000",
        *([openrlhf("eval_num_samples", same=False, note="over all sets together")] if _eval else []),
        *([telescope("num_completions", same=False, note="of one evaluation at one step")] if _eval else []),
        kind="sum",
        producer="evaluate",
        needs=ROWS,
        range=(0.0, None),
    )
    reported(
        f"{_section}/{{set}}/failed/share",
        "share",
        "down",
        "Share of repeats that failed: no score because something broke.",
        "rows marked failed / all rows." + _where,
        "Every failure is outside mean@n. Above a few percent the score is about the survivors.",
        "mean_strict@n against mean@n; errors and timeouts of those samples",
        "1 of 2: 0.5",
        kind="ratio",
        producer="evaluate",
        needs=ROWS,
        range=(0.0, 1.0),
        alarms=[
            Alarm(
                "above",
                0.05,
                "watch",
                "prime-rl training.md: errored rollouts above 5 %",
                "the score leaves out more than one repeat in twenty",
            )
        ],
    )
    reported(
        f"{_section}/{{set}}/failed/tasks",
        "share",
        "down",
        "Share of tasks of which every repeat failed.",
        "tasks with rows and no row that succeeded / all tasks." + _where,
        "These tasks are in no mean at all.",
        "what they have in common: length, tools, one broken data row",
        "0.01",
        kind="ratio",
        producer="evaluate",
        needs=ROWS,
        range=(0.0, 1.0),
    )
    reported(
        f"{_section}/{{set}}/repeats_missing",
        "count",
        "down",
        "Repeats that should be there and are not.",
        "Σ over tasks of planned repeats minus rows; without a plan, against the task with the most rows." + _where,
        "0. Anything else means that some tasks are judged on fewer tries than others.",
        "crashed workers; a run that was cut off",
        "tasks with 2, 1 and 2 rows: 1",
        kind="missing",
        producer="evaluate",
        needs=ROWS,
        range=(0.0, None),
    )
    for _column, _unit, _what in (
        ("turns", "turns", "Turns"),
        ("tokens", "tokens", "Generated tokens"),
        ("seconds", "s", "Seconds"),
    ):
        reported(
            f"{_section}/{{set}}/{_column}",
            _unit,
            "context",
            f"{_what} of an evaluation repeat.",
            f"statistics of `{_column}` over all rows that have it, failed ones included; std with ddof 1." + _where,
            "Explains cost and moves of the score: answers that get cut, tools that loop.",
            "eval/{set}/truncated; the longest samples",
            "mean 2.5, max 4",
            *([openrlhf("eval_{set}_response_length_mean", stat="mean")] if _eval and _column == "tokens" else []),
            *(
                [openrlhf("eval_response_length_mean", stat="mean", same=False, note="over all sets together")]
                if _eval and _column == "tokens"
                else []
            ),
            kind="distribution",
            stats=("mean", "std", "min", "max"),
            producer="evaluate",
            needs=(f"evaluation rows with {_column}",),
            range=(0.0, None),
        )
    reported(
        f"{_section}/{{set}}/truncated",
        "share",
        "down",
        "Share of evaluation repeats that were cut at the length limit.",
        "rows with stop_reason length / rows with a stop reason." + _where,
        "Cut answers score nothing. A falling score with this rising is a budget, not a skill.",
        "token limit of the evaluation against training's; eval/{set}/tokens",
        "0.04",
        *(
            [
                openrlhf("eval_{set}_truncated_rate"),
                openrlhf("eval_truncated_rate", same=False, note="over all sets together"),
            ]
            if _eval
            else []
        ),
        kind="ratio",
        producer="evaluate",
        needs=("evaluation rows with stop_reason",),
        range=(0.0, 1.0),
    )
    reported(
        f"{_section}/{{set}}/seconds_per_run",
        "s",
        "down",
        "Seconds of a repeat, tasks counted once each.",
        "mean over tasks of the mean seconds of a task's repeats, failed ones included." + _where,
        "Beside eval/{set}/seconds/mean: apart when tasks have different numbers of repeats.",
        "timeouts; slow tools",
        "2.0 and 9.0: 5.5",
        *([trinity(f"{_section}/{{set}}/time/run_execution")] if _trinity else []),
        producer="evaluate",
        needs=("evaluation rows with seconds",),
        range=(0.0, None),
    )
    if _trinity:
        reported(
            f"{_section}/{{set}}/seconds_per_task",
            "s",
            "down",
            "Seconds of a whole evaluation task.",
            "mean over tasks of the wall time of a task with all its repeats, as the scheduler measures it." + _where,
            "Against seconds_per_run it shows how far repeats run side by side.",
            "number of runners; slow tools",
            "5.6",
            trinity(f"{_section}/{{set}}/time/task_execution"),
            range=(0.0, None),
        )

reported(
    "val-aux/num_turns",
    "turns",
    "context",
    "Turns of a validation sample, over all validation sets.",
    "statistics of `turns` over all rows of all sets evaluated with prefix val.",
    "Loops and retries show as a maximum that leaves the mean behind.",
    "tool failures; turn limit",
    "min 1, mean 2.5, max 4",
    verl(
        "val-aux/num_turns/{mean,min,max}",
        note="counts user and tool turns too in the tool loop; single-turn samples are a constant 2",
    ),
    kind="distribution",
    stats=("mean", "min", "max"),
    producer="evaluate",
    needs=("evaluation rows with turns",),
    range=(0.0, None),
)
reported(
    "eval/loss",
    "nats/token",
    "down",
    "The training loss on held-out data.",
    "the trainer's loss over the evaluation set, mean over its batches.",
    "Rising while the training loss falls is overfitting.",
    "epochs; size of the data; eval scores",
    "0.399",
    trl("eval_loss"),
    verl("val/loss", trainer="sft"),
    openrlhf("eval gpt_loss", trainer="sft"),
    openrlhf("eval_loss", trainer="rm", same=False, note="the reward model's pair loss on held-out pairs"),
    producer="trainer",
    needs=("the trainer's evaluation loop",),
)
