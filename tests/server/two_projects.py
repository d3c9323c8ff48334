"""A folder with runs of two projects, `ours` and `theirs`, and clients that see one, or both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from starlette.testclient import TestClient

import rollscope as rs
from rollscope.access import tokens
from rollscope.access.sqlite_book import SqliteBook
from rollscope.server.app import create
from rollscope.store.project.deleted import delete
from rollscope.store.project.log import Change, ProjectLog

OURS, THEIRS, GONE = "run-of-ours", "run-of-zebra", "run-gone-zebra"
NEEDLES = ("zebra", "ZEBRA", "theirs")  # whatever says one of these has told of the other project


def record(folder: Path) -> None:
    """One run of ours; two of theirs, one of them in the bin. What theirs hold says zebra."""
    for id, project, word in ((OURS, "ours", "apple"), (THEIRS, "theirs", "zebra"), (GONE, "theirs", "zebra")):
        with rs.init(project=project, name=f"{word} run", id=id, dir=folder, host=False, tags=[word]) as run:
            for step in range(4):
                run.log({"reward/mean": 0.1 * step, f"{word}/metric": 1.0}, step=step)
                sample = {"id": f"{word}.{step}", "prompt": f"the {word}", "response": f"a {word.upper()}"}
                run.log_samples(step=step, samples=[{**sample, "reward": 0.5, "env": word, "task": word}])
                run.commit(step)
    log = ProjectLog(str(folder))
    log.append_all([*_said(OURS, "apple"), *_said(THEIRS, "zebra"), Change("baseline", "theirs", THEIRS)])
    delete(log, [GONE], rs_reading(folder))


def rs_reading(folder: Path):  # type: ignore[no-untyped-def]
    from rollscope.server.library import Library

    return Library(str(folder)).reading


def _said(run: str, word: str) -> list[Change]:
    return [
        Change("tag", f"{run}/{word}-tag", True),
        Change("note", run, f"a note on {word}"),
        Change("star", f"{run}/{word}.1", True),
        Change("comment", f"{run}/c1/{word}.1", f"{word} comment"),
        Change("set", f"both/{run}/{word}.1", True),
        Change("set", f"{word}-set/{run}/{word}.1", True),
        Change("board", f"{word} board", {"panels": [{"run": run}]}),
        Change("query", f"{word} query", f"select '{word}'"),
    ]


def token(folder: Path, *projects: str, may: str = "read", days: float = 1, **links: list[str]) -> str:
    name = f"{may} of {projects or links}"
    return tokens.make(SqliteBook(str(folder)), name, projects, may, days, **links)[1]  # type: ignore[arg-type]


def bearer(text: str) -> dict[str, str]:
    return {"authorization": f"Bearer {text}"}


@contextmanager
def asking(folder: Path) -> Iterator[TestClient]:
    """A server that wants a token of everyone."""
    app = create(str(folder), book=SqliteBook(str(folder)))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False, follow_redirects=False) as client:
        yield client
