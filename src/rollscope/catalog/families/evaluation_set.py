"""Evaluation sets, independent of the score: size, failures and cost."""

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
        meaning="Number of tasks of the evaluation set that were tried.",
        definition="number of different tasks among the rows, including failed ones." + _where,
        read="Must stay the same from one evaluation to the next; otherwise scores cannot be compared.",
        check="a changed data set; a crash in the middle",
        unit="count",
        good="context",
        example="500",
        kind="sum",
        producer="evaluate",
        needs=ROWS,
        range=(0.0, None),
        names=[trinity(f"{_section}/{{set}}/finished_task_count", note="counts failed tasks, too")] if _trinity else [],
    )
    reported(
        f"{_section}/{{set}}/repeats",
        meaning="Number of repeats of all tasks together.",
        definition="number of evaluation rows, including failed ones." + _where,
        read="Equals tasks times repeats if nothing is missing.",
        check="eval/{set}/repeats_missing",
        unit="count",
        good="context",
        example="4000",
        kind="sum",
        producer="evaluate",
        needs=ROWS,
        range=(0.0, None),
        names=(
            *([openrlhf("eval_num_samples", same=False, note="over all sets together")] if _eval else []),
            *(
                [telescope("num_completions", same=False, note="the number of one evaluation at one step")]
                if _eval
                else []
            ),
        ),
    )
    reported(
        f"{_section}/{{set}}/failed/share",
        meaning="Share of repeats without a score because something failed.",
        definition="rows marked failed / all rows." + _where,
        read="mean@n leaves out every failure. Above a few percent, it only describes the repeats that survived.",
        check="mean_strict@n compared with mean@n; errors and timeouts of those samples",
        unit="share",
        good="down",
        example="1 of 2: 0.5",
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
        meaning="Share of tasks in which every repeat failed.",
        definition="tasks that have rows but no successful row / all tasks." + _where,
        read="mean@n leaves these tasks out completely.",
        check="what these tasks have in common: length, tools, one broken data row",
        unit="share",
        good="down",
        example="0.01",
        kind="ratio",
        producer="evaluate",
        needs=ROWS,
        range=(0.0, 1.0),
    )
    reported(
        f"{_section}/{{set}}/repeats_missing",
        meaning="Number of missing repeats.",
        definition=(
            "Σ over tasks of planned repeats minus rows; without a plan, relative to the task with the most rows."
        )
        + _where,
        read="Should be 0. Anything else means that some tasks are judged on fewer tries than others.",
        check="crashed workers; an interrupted run",
        unit="count",
        good="down",
        example="tasks with 2, 1 and 2 rows: 1",
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
            meaning=f"{_what} of an evaluation repeat.",
            definition=f"statistics of `{_column}` over all rows that have it, including failed ones; std with ddof 1."
            + _where,
            read="Explains cost and changes of the score: answers that are cut, tools that loop.",
            check="eval/{set}/truncated; the longest samples",
            unit=_unit,
            good="context",
            example="mean 2.5, max 4",
            kind="distribution",
            stats=("mean", "std", "min", "max"),
            producer="evaluate",
            needs=(f"evaluation rows with {_column}",),
            range=(0.0, None),
            names=(
                *([openrlhf("eval_{set}_response_length_mean", stat="mean")] if _eval and _column == "tokens" else []),
                *(
                    [openrlhf("eval_response_length_mean", stat="mean", same=False, note="over all sets together")]
                    if _eval and _column == "tokens"
                    else []
                ),
            ),
        )
    reported(
        f"{_section}/{{set}}/truncated",
        meaning="Share of evaluation repeats that were cut at the length limit.",
        definition="rows with stop_reason length / rows with a stop reason." + _where,
        read="Cut answers score nothing. If this share rises while the score falls, the budget is too small.",
        check="token limit of the evaluation compared with that of training; eval/{set}/tokens",
        unit="share",
        good="down",
        example="0.04",
        kind="ratio",
        producer="evaluate",
        needs=("evaluation rows with stop_reason",),
        range=(0.0, 1.0),
        names=[
            openrlhf("eval_{set}_truncated_rate"),
            openrlhf("eval_truncated_rate", same=False, note="over all sets together"),
        ]
        if _eval
        else [],
    )
    reported(
        f"{_section}/{{set}}/seconds_per_run",
        meaning="Seconds of a repeat, with each task counted once.",
        definition="mean over tasks of the mean seconds of a task's repeats, including failed ones." + _where,
        read="Differs from eval/{set}/seconds/mean if tasks have different numbers of repeats.",
        check="timeouts; slow tools",
        unit="s",
        good="down",
        example="2.0 and 9.0: 5.5",
        producer="evaluate",
        needs=("evaluation rows with seconds",),
        range=(0.0, None),
        names=[trinity(f"{_section}/{{set}}/time/run_execution")] if _trinity else [],
    )
    if _trinity:
        reported(
            f"{_section}/{{set}}/seconds_per_task",
            meaning="Seconds of a whole evaluation task.",
            definition="mean over tasks of the wall time of a task with all its repeats, as the scheduler measures it."
            + _where,
            read="Compare with eval/{set}/seconds_per_run to see how many repeats run in parallel.",
            check="number of runners; slow tools",
            unit="s",
            good="down",
            example="5.6",
            range=(0.0, None),
            names=(trinity(f"{_section}/{{set}}/time/task_execution"),),
        )

reported(
    "val-aux/num_turns",
    meaning="Turns of a validation sample, over all validation sets.",
    definition="statistics of `turns` over all rows of all sets evaluated with prefix val.",
    read="A maximum far above the mean shows loops and retries.",
    check="tool failures; turn limit",
    unit="turns",
    good="context",
    example="min 1, mean 2.5, max 4",
    kind="distribution",
    stats=("mean", "min", "max"),
    producer="evaluate",
    needs=("evaluation rows with turns",),
    range=(0.0, None),
    names=(
        verl(
            "val-aux/num_turns/{mean,min,max}",
            note="in the tool loop it also counts user and tool turns; single-turn samples always count as 2",
        ),
    ),
)
reported(
    "eval/loss",
    meaning="The training loss on held-out data.",
    definition="the trainer's loss over the evaluation set, averaged over its batches.",
    read="If it rises while the training loss falls, the model overfits.",
    check="epochs; size of the data; eval scores",
    unit="nats/token",
    good="down",
    example="0.399",
    producer="trainer",
    needs=("the trainer's evaluation loop",),
    names=(
        trl("eval_loss"),
        verl("val/loss", trainer="sft"),
        openrlhf("eval gpt_loss", trainer="sft"),
        openrlhf("eval_loss", trainer="rm", same=False, note="the reward model's pair loss on held-out pairs"),
    ),
)
