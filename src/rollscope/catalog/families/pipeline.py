"""The data pipeline between rollouts and trainer: samples its operators keep, and their time.

`operators` is a list of `{name, in, out, seconds, metrics?}` in the order in which they ran. The
metrics name an operator `<position>_<name>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rollscope.catalog.partials.partial import Mean, Ratio, Sum
from rollscope.catalog.reported import openrlhf, reported, trinity
from rollscope.catalog.spec import Name, metric
from rollscope.errors import BadBatch

Operators = Iterable[Mapping[str, Any]]


def _rows(operators: Operators, *columns: str) -> dict[str, Mapping[str, Any]]:
    """The operators that have all the given columns, by name."""
    rows: dict[str, Mapping[str, Any]] = {}
    if not isinstance(operators, list | tuple):
        raise BadBatch(
            f"batch['operators'] is {type(operators).__name__}; expected a list with one mapping for each "
            "operator of the data pipeline, in their order."
        )
    for i, row in enumerate(operators):
        if not isinstance(row, Mapping) or "name" not in row:
            raise BadBatch(
                f"operators[{i}] is {row!r}; expected a mapping with a name, such as "
                "{'name': 'reward_filter', 'in': 64, 'out': 48, 'seconds': 0.1}."
            )
        if all(row.get(column) is not None for column in columns):
            _require_counts(i, row)
            rows[f"{i}_{row['name']}"] = row
    return rows


def _require_counts(i: int, row: Mapping[str, Any]) -> None:
    for column in ("in", "out", "seconds"):
        if row.get(column) is not None and not float(row[column]) >= 0:
            raise BadBatch(
                f"operators[{i}] ({row['name']}) has {column} = {row[column]}; expected a number of at least 0."
            )


def _kept(entered: float, left: float) -> Ratio:
    """The share of what entered that left. What an operator adds is no part of its input."""
    return Ratio(min(float(left), float(entered)), float(entered))


@metric(
    "pipeline/in",
    unit="samples",
    good="context",
    range=(0, None),
    example="the first operator was given 64 samples: 64",
)
def entered(operators: Any) -> Sum | None:
    """Samples that entered the pipeline.

    Definition: `in` of the first operator, summed over the parts of the step.

    Read: Compare with pipeline/out.

    Check: samples/generated; pipeline/dropped_share.
    """
    rows = list(_rows(operators, "in").values())
    return Sum(float(rows[0]["in"]), 1.0) if rows else None


@metric(
    "pipeline/out",
    unit="samples",
    good="up",
    range=(0, None),
    example="the last operator passed 48 samples on: 48",
    names=(Name("trinity", "experience_pipeline/experience_count"),),
)
def left(operators: Any) -> Sum | None:
    """Samples that left the pipeline for the trainer's buffer.

    Definition: `out` of the last operator, summed over the parts of the step.

    Read: The trainer receives this many samples. 0 for several steps means that a filter removes
    everything.

    Check: pipeline/operator/{operator}/kept_share: which operator?; pipeline/in.
    """
    rows = list(_rows(operators, "out").values())
    return Sum(float(rows[-1]["out"]), 1.0) if rows else None


@metric(
    "pipeline/filtered",
    unit="samples",
    good="context",
    example="64 in, 60 after the first operator, 48 after the second: 16",
    names=(
        Name(
            "trinity",
            "experience_pipeline/filtered_count",
            same=False,
            note="Trinity's operators share one dictionary, so the last filter's count replaces the others",
        ),
    ),
)
def filtered(operators: Any) -> Sum | None:
    """Samples that the pipeline removed.

    Definition: sum over operators of in - out. An operator that adds samples has a negative count.

    Read: Compare with pipeline/in. The count per operator shows where samples are lost.

    Check: pipeline/operator/{operator}/filtered.
    """
    rows = list(_rows(operators, "in", "out").values())
    return Sum(float(sum(row["in"] - row["out"] for row in rows)), 1.0) if rows else None


@metric(
    "pipeline/dropped_share",
    unit="share",
    good="down",
    range=(0, 1),
    example="64 in and 48 out: 0.25",
)
def dropped_share(operators: Any) -> Ratio | None:
    """Share of the pipeline's input that did not come out of it.

    Definition: (in of the first operator - out of the last) over in of the first; 0 if the pipeline
    adds samples.

    Read: 0 drops nothing, 1 leaves nothing for the trainer. pipeline/filtered is negative where
    samples are added.

    Check: pipeline/operator/{operator}/kept_share; group/zero_spread, if a filter requires spread.
    """
    rows = list(_rows(operators, "in", "out").values())
    if not rows:
        return None
    kept = _kept(rows[0]["in"], rows[-1]["out"])
    return Ratio(kept.den - kept.num, kept.den)


@metric(
    "pipeline/operator/{operator}/in",
    unit="samples",
    good="context",
    range=(0, None),
    example="pipeline/operator/0_reward_filter/in: 64",
)
def operator_in(operators: Any) -> dict[str, Sum]:
    """Samples that an operator received.

    Definition: `in` of the operator, summed over the parts of the step.

    Read: Equals the output of the operator before it.

    Check: pipeline/operator/{operator}/out.
    """
    return {name: Sum(float(row["in"]), 1.0) for name, row in _rows(operators, "in").items()}


@metric(
    "pipeline/operator/{operator}/out",
    unit="samples",
    good="context",
    range=(0, None),
    example="pipeline/operator/0_reward_filter/out: 48",
)
def operator_out(operators: Any) -> dict[str, Sum]:
    """Samples that an operator passed on.

    Definition: `out` of the operator, summed over the parts of the step.

    Read: Compare with its input.

    Check: pipeline/operator/{operator}/kept_share.
    """
    return {name: Sum(float(row["out"]), 1.0) for name, row in _rows(operators, "out").items()}


@metric("pipeline/operator/{operator}/filtered", unit="samples", good="context", example="64 in, 48 out: 16")
def operator_filtered(operators: Any) -> dict[str, Sum]:
    """Samples that an operator removed.

    Definition: in - out of the operator, summed over the parts of the step; negative if it adds
    samples.

    Read: Shows which operator decides what is trained on.

    Check: the operator's settings; pipeline/operator/{operator}/kept_share.
    """
    return {name: Sum(float(row["in"] - row["out"]), 1.0) for name, row in _rows(operators, "in", "out").items()}


@metric(
    "pipeline/operator/{operator}/kept_share",
    unit="share",
    good="context",
    range=(0, 1),
    example="64 in, 48 out: 0.75",
)
def operator_kept(operators: Any) -> dict[str, Ratio]:
    """Share of its input that an operator passed on.

    Definition: out over in of the operator; 1 if it adds samples.

    Read: An operator at 0 leaves nothing for the trainer; one at 1 does nothing.

    Check: the operator's settings; the samples it removed.
    """
    return {name: _kept(row["in"], row["out"]) for name, row in _rows(operators, "in", "out").items()}


@metric(
    "pipeline/operator/{operator}/seconds",
    unit="s",
    good="down",
    range=(0, None),
    example="pipeline/operator/0_reward_filter/seconds: 0.1",
    names=(
        Name(
            "trinity",
            "time/experience_pipeline/operator/{operator}",
            note="Trinity also names an operator position_Class",
        ),
    ),
)
def operator_seconds(operators: Any) -> dict[str, Sum]:
    """Time an operator took.

    Definition: seconds of the operator, summed over the parts of the step.

    Read: The slowest operator delays every batch by this time.

    Check: pipeline/seconds; what the operator calls (a model, a sandbox).
    """
    return {name: Sum(float(row["seconds"]), 1.0) for name, row in _rows(operators, "seconds").items()}


@metric(
    "pipeline/seconds",
    unit="s",
    good="down",
    range=(0, None),
    example="operators of 0.1 s and 0.4 s: 0.5",
    names=(Name("trinity", "time/experience_pipeline/total", same=False, note="includes writing to the buffer"),),
)
def seconds(operators: Any) -> Sum | None:
    """Time that all operators took together.

    Definition: sum of the operators' seconds, without writing to the buffer.

    Read: Should be small compared with generation. If it is not, run the pipeline on another
    machine or in parallel.

    Check: pipeline/operator/{operator}/seconds; pipeline/write_seconds.
    """
    rows = list(_rows(operators, "seconds").values())
    return Sum(float(sum(row["seconds"] for row in rows)), float(len(rows))) if rows else None


@metric(
    "pipeline/operator_metric/{metric}",
    unit="as logged",
    good="context",
    example=(
        "operators=[{'name': 'grpo', 'metrics': {'skipped_group_ratio': 0.25}}]: "
        "pipeline/operator_metric/skipped_group_ratio 0.25"
    ),
    names=(
        Name(
            "trinity",
            "experience_pipeline/{metric}",
            note=(
                "such as skipped_group_ratio, reward_diff/mean or selection/valid_ratio; if several "
                "operators write the same name, the last one is used"
            ),
        ),
    ),
)
def operator_metric(operators: Any) -> dict[str, Mean]:
    """A number that an operator reports about its work.

    Definition: as the operator measured it, averaged over the parts of the step. If several
    operators report the same name, the last one is used.

    Read: Depends on the operator. A share of skipped groups, or of prompts with a useful pass rate,
    shows how much of the batch teaches something.

    Check: the operator's settings; group/zero_spread.
    """
    return {
        str(name): Mean(float(x), 1.0)
        for row in _rows(operators, "metrics").values()
        for name, x in row["metrics"].items()
    }


reported(
    "pipeline/write_seconds",
    meaning="Time to write a step's samples to the trainer's buffer.",
    definition="the pipeline's own measurement, per step.",
    read="A rise means a slow disk, a full queue or a trainer that does not read.",
    check="pipeline/seconds; the buffer's length; the disk",
    unit="s",
    good="down",
    example="0.2 s",
    kind="sum",
    range=(0, None),
    names=(trinity("time/experience_pipeline/write"),),
)
reported(
    "pipeline/data_juicer_seconds",
    meaning="Time a data-juicer service took for a step's samples.",
    definition="the pipeline's own measurement, per step.",
    read="The service runs separately and is slow when it is shared or loads a model.",
    check="pipeline/seconds; the service's log",
    unit="s",
    good="down",
    example="1.5 s",
    kind="sum",
    range=(0, None),
    names=(trinity("time/dj_process_experience"),),
)
reported(
    "pipeline/dynamic_filtering_pass",
    meaning="Share of the consumed prompts that passed dynamic filtering.",
    definition="prompts whose group passed the filter, over prompts consumed to fill the batch.",
    read="Low values mean that many prompts are generated for each one used: the data is too easy or too hard.",
    check="group/zero_spread; group/all_pass and group/all_fail; pipeline/dropped_share",
    unit="share",
    good="up",
    example="64 of 256 prompts passed: 0.25",
    kind="ratio",
    range=(0, 1),
    names=(
        openrlhf(
            "dynamic_filtering_pass_rate",
            same=False,
            note="in 0.11 it is responses over prompts in percent, so it is n_samples times too large",
        ),
    ),
)
