"""The marked samples of a run, newest first, with what people said and the words of the prompt."""

from __future__ import annotations

from collections.abc import Mapping

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.store.project.sample_marks import SampleMarks
from rollscope.store.run import Run
from rollscope.strict_json import Number
from rollscope.views import nullable
from rollscope.views.samples.groups import group_name
from rollscope.views.samples.previews import previews
from rollscope.views.samples.search import Narrow


class MarkedSample(TypedDict):
    id: str
    step: int | None
    group: str
    reward: Number
    prompt: str
    star: bool
    labels: list[str]
    comments: list[str]
    sets: list[str]


class MarkedList(TypedDict):
    samples: list[MarkedSample]
    missing: int  # marked samples that the run no longer has


def marked_samples(run: Run, marks: Mapping[str, SampleMarks], query: str = "") -> MarkedList:
    """The marked samples that pass filter words."""
    if not marks:
        return {"samples": [], "missing": 0}
    rows = Narrow(query, marks=marks).rows(run, list(marks))
    prompts = previews(run, list(rows))
    held = len(rows) if not query else len(run.samples(ids=list(marks), columns=["id"])["id"])
    found: list[MarkedSample] = [
        {
            "id": id,
            "step": nullable.integer(row["step"]),
            "group": group_name(row["group"], row["task"], id),
            "reward": nullable.number(row["score"] if nullable.missing(row["reward"]) else row["reward"]),
            "prompt": prompts.get(id, ""),
            "star": marks[id]["star"],
            "labels": marks[id]["labels"],
            "comments": [comment["text"] for comment in marks[id]["comments"]],
            "sets": marks[id]["sets"],
        }
        for id, row in rows.items()
    ]
    return {"samples": sorted(found, key=lambda one: -(one["step"] or 0)), "missing": len(marks) - held}
