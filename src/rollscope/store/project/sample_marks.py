"""What people say about samples: stars, labels, comments, and the sets they collect them in."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import TypedDict

from rollscope.errors import BadInput

from .kinds import split
from .log import Change, ProjectLog

LONGEST_WORD = 200  # characters of a label or of a set's name


class Comment(TypedDict):
    id: str  # of the comment, not of an entry
    text: str
    author: str
    time_ns: int


class SampleMarks(TypedDict):
    """What people said about one sample."""

    star: bool
    labels: list[str]
    comments: list[Comment]
    sets: list[str]


class Member(TypedDict):
    """A sample of a set."""

    run: str
    sample: str


def sample_marks(log: ProjectLog, run: str) -> dict[str, SampleMarks]:
    """Sample id -> what is said about it, in one run. A sample nobody spoke of is not there."""
    found: dict[str, SampleMarks] = {}

    def of(sample: str) -> SampleMarks:
        return found.setdefault(sample, {"star": False, "labels": [], "comments": [], "sets": []})

    for of_run, sample in _true(log, "star"):
        if of_run == run:
            of(sample)["star"] = True
    for of_run, label, sample in _true(log, "label"):
        if of_run == run:
            of(sample)["labels"].append(label)
    for set_, of_run, sample in _true(log, "set"):
        if of_run == run:
            of(sample)["sets"].append(set_)
    for name, entry in log.holding("comment").items():
        of_run, id, sample = split("comment", name)
        if of_run == run:
            said: Comment = {"id": id, "text": entry.value, "author": entry.author, "time_ns": entry.time_ns}
            of(sample)["comments"].append(said)
    return found


def sets(log: ProjectLog) -> dict[str, list[Member]]:
    """Name of a set -> its samples, in the order in which they were put in."""
    found: dict[str, list[Member]] = {}
    for name, run, sample in _true(log, "set"):
        found.setdefault(name, []).append({"run": run, "sample": sample})
    return dict(sorted(found.items()))


def changes(
    run: str,
    samples: Iterable[str],
    star: bool = False,
    labels: Sequence[str] = (),
    comment: str = "",
    sets: Sequence[str] = (),
) -> list[Change]:
    """What puts these marks on samples."""
    made = []
    for sample in samples:
        made += [Change("star", f"{run}/{sample}", True)] if star else []
        made += [Change("label", f"{run}/{word(label, 'label')}/{sample}", True) for label in labels]
        made += [Change("set", f"{word(name, 'set')}/{run}/{sample}", True) for name in sets]
        made += [Change("comment", f"{run}/{secrets.token_hex(6)}/{sample}", comment)] if comment else []
    return made


def removals(
    log: ProjectLog,
    run: str,
    samples: Iterable[str],
    star: bool = False,
    labels: Sequence[str] = (),
    comment: str = "",
    sets: Sequence[str] = (),
) -> list[Change]:
    """What takes these marks away from samples; a comment is named by its text."""
    said, made = sample_marks(log, run), []
    for sample in samples:
        marks = said.get(sample)
        if marks is None:
            continue
        made += [Change("star", f"{run}/{sample}", None)] if star and marks["star"] else []
        made += [Change("label", f"{run}/{label}/{sample}", None) for label in labels if label in marks["labels"]]
        made += [Change("set", f"{name}/{run}/{sample}", None) for name in sets if name in marks["sets"]]
        same = [one["id"] for one in marks["comments"] if comment and one["text"] == comment]
        made += [Change("comment", f"{run}/{id}/{sample}", None) for id in same]
    return made


def word(text: str, what: str) -> str:
    """A label or a set's name that the log can keep: words without a slash."""
    if not text.strip() or "/" in text or len(text) > LONGEST_WORD:
        wanted = f"1 to {LONGEST_WORD} characters without a slash"
        raise BadInput(f"a {what} cannot be {text[:80]!r}: it has {wanted}")
    return text


def _true(log: ProjectLog, kind: str) -> list[list[str]]:
    """The words of the names that hold with the value true."""
    return [split(kind, name) for name, value in log.current(kind).items() if value is True]
