"""Rollouts: the samples of a step as columns without text, then the text of those that are looked at, and every prompt's history.

Ten thousand samples of a step are a few arrays on the wire; what a model wrote is sent for the samples on the screen only, its first 64 kB first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from fastapi import APIRouter, Query
from starlette.responses import Response, StreamingResponse
from typing_extensions import TypedDict

from rollscope.errors import BadInput, NotFound
from rollscope.server.deps import Lib, RunId
from rollscope.server.library import Library
from rollscope.server.packed import MEDIA_TYPE, reply
from rollscope.store import arrow
from rollscope.store.run import Run
from rollscope.store.tables import tables
from rollscope.strict_json import encode, plain
from rollscope.views.samples import prompts as histories
from rollscope.views.samples import rollouts
from rollscope.views.samples.sample_export import turns

router = APIRouter(tags=["rollouts"])
PACKED: dict[int | str, dict[str, Any]] = {200: {"content": {MEDIA_TYPE: {}}, "description": "packed columns"}}
NO_STORE = {"cache-control": "no-store"}
PIECE = 200_000  # characters of a long text in a line
FIRST = 64_000  # characters of a text that come with the sample
LINE = 240  # characters of a preview
TEXTS = ("prompt", "completion", "answer")
ARRAYS = ("logp", "old_logp", "rollout_logp", "ref_logp", "entropy", "token_advantages")
VISITS = 60  # newest visits of a prompt that are listed
KEPT_STEPS = 8
AT_ONCE = 16  # samples that come whole in one answer
Step = Annotated[int | None, Query(ge=-(2**53), le=2**53)]


class Ids(TypedDict):
    ids: list[str]


class TextAsk(TypedDict):
    id: str
    field: str
    start: int


@router.get("/runs/{run}/rollouts", response_class=Response, responses=PACKED)
def index(library: Lib, run: RunId, step: Step = None, texts: Annotated[int, Query(ge=0, le=AT_ONCE)] = 0) -> Response:
    """The samples of a step, or of the last one before it that has some (without a step, of the newest that was trained on): ids, groups, rewards, fates, no text.

    With `texts`, so many of the samples that a list opens with come whole: who changes the step need not ask twice.
    """
    with library.reading(run) as found:
        at, before, after = rollouts.near(found, step)
        if at is None:
            return reply(
                {"step": None, "asked": step, "before": None, "after": None, "last": None, "groups": [], "ids": []}, {}
            )
        r = kept(library, run, found, at)
        head, columns = _packed(found, r, step, before, after)
        places = rollouts.shown_first(r, columns["reward"], texts) if texts else []
        opening = _samples(found, [r.ids[i] for i in places]) if places else []
        return reply({**head, "last": int(rollouts.steps(found)[-1]), "samples": opening}, columns)


def kept(library: Library, id: str, run: Run, step: int) -> rollouts.Rollouts:
    """The columns of a step, for as long as it is one of the newest few that were asked for."""
    recent: dict[int, rollouts.Rollouts] = library.keep(run, id, "rollouts", dict)
    if step not in recent:
        while len(recent) >= KEPT_STEPS:
            recent.pop(next(iter(recent)))
        recent[step] = rollouts.of_step(run, step)
    return recent[step]


def _packed(
    run: Run, r: rollouts.Rollouts, asked: int | None, before: int | None, after: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    head: dict[str, Any] = {
        "step": r.step,
        "asked": asked,
        "before": before,
        "after": after,
        "ids": r.ids,
        "groups": r.groups,
        "tasks": r.tasks,
        "words": r.words,
        "parts": list(r.parts),
    }
    head["ranges"] = {**ranges(run, r), **{name: _range(run, name, values) for name, values in r.parts.items()}}
    numbers = {
        name: values.astype(np.float32)
        for name, values in {"gini": r.gini, **r.numbers, **r.parts}.items()
        if not np.isnan(values).all()
    }
    columns = {
        "group": r.group,
        "fate": r.fate,
        **numbers,
        "reward": _rewards(r),
        **{f"{name} code": _small(codes, len(r.words[name])) for name, codes in r.codes.items()},
    }
    return head, columns


def _small(codes: Any, words: int) -> Any:
    return codes.astype(np.uint8) if words <= 256 else codes


def _rewards(r: rollouts.Rollouts) -> Any:
    """The rewards; of an evaluation, which gives none, the scores."""
    return np.where((r.fate == rollouts.EVAL) & np.isnan(r.numbers["reward"]), r.numbers["score"], r.numbers["reward"])


def ranges(run: Run, r: rollouts.Rollouts) -> dict[str, list[float]]:
    """The reward's range by environment and over all of them: declared, else what the step has."""
    said = {env: _declared(run, env) for env in r.words["env"]}
    seen = _seen(_rewards(r))
    pairs = [pair or seen for pair in said.values()] or [seen]
    return {
        "reward": [min(p[0] for p in pairs), max(p[1] for p in pairs)],
        **{f"reward {env}": pair or seen for env, pair in said.items()},
    }


def _declared(run: Run, env: str) -> list[float] | None:
    said = {**run.declared, **(run.declared.get("environments") or {}).get(env, {})}
    low, high = said.get("reward_min"), said.get("reward_max")
    return [float(low), float(high)] if low is not None and high is not None and high > low else None


def _range(run: Run, part: str, values: Any) -> list[float]:
    name = part.split("/", 1)[-1]
    said = [
        (e.get("metrics_ranges") or {}).get(name)
        for e in [run.declared, *(run.declared.get("environments") or {}).values()]
    ]
    known = [pair for pair in said if pair]
    return [min(float(p[0]) for p in known), max(float(p[1]) for p in known)] if known else _seen(values)


def _seen(values: Any) -> list[float]:
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    return [low, high] if high > low else [min(low, 0.0), max(high, low + 1.0)]


@router.post("/runs/{run}/rollouts/samples", response_class=Response)
def samples(library: Lib, run: RunId, ask: Ids) -> Response:
    """Everything about a few samples, with their turns; of a long text the first part, and how long it is."""
    if len(ask["ids"]) > AT_ONCE:
        raise BadInput(f"at most {AT_ONCE} samples at a time, not {len(ask['ids'])}: ask for those on the screen")
    with library.reading(run) as found:
        return text_reply({"samples": _samples(found, ask["ids"])})


def _samples(run: Run, ids: list[str]) -> list[dict[str, Any]]:
    table = run.samples(ids=ids, as_arrow=True)
    lengths = {name: pc.fill_null(pc.utf8_length(table[name]), 0).to_pylist() for name in TEXTS}
    columns = arrow.numpy(_cut(table), tables.types("samples"))
    columns |= {f"whole {name}": np.array(values) for name, values in lengths.items()}
    rows = {columns["id"][i]: {name: values[i] for name, values in columns.items()} for i in range(len(columns["id"]))}
    said = turns(run, rows.values())
    return [_whole(rows[id], said.get(id, [])) for id in ids if id in rows]


def _cut(rows: pa.Table) -> pa.Table:
    """Long texts cut in Arrow, before Python has to hold them; a text with escapes is left whole, since a cut could fall into one."""
    if rows[arrow.ESCAPED].null_count < len(rows):
        return rows
    for name in TEXTS:
        rows = rows.set_column(rows.column_names.index(name), name, pc.utf8_slice_codeunits(rows[name], 0, FIRST))
    return rows


def _whole(row: Mapping[str, Any], said: list[dict[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {
        name: _array(value) if name in ARRAYS else _plain(value)
        for name, value in row.items()
        if name not in ("token_ids", "run", "writer")
    }
    out["whole"] = {name: out.pop(f"whole {name}") for name in TEXTS}
    for name in TEXTS:
        out[name] = (out[name] or "")[:FIRST]
    return {**out, "turn_rows": [{name: _plain(value) for name, value in turn.items()} for turn in said]}


def _array(values: Any) -> list[float | None] | None:
    """Four decimals are more than a colour shows."""
    if values is None:
        return None
    rounded = np.round(np.asarray(values, np.float64), 4)
    return [v if v == v else None for v in np.where(np.isfinite(rounded), rounded, np.nan).tolist()]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if isinstance(value, float | np.floating) and value != value else plain(value, surrogates=True)


def text_reply(value: Any) -> Response:
    """JSON that also carries a lone surrogate, which UTF-8 cannot."""
    return Response(_line(value), media_type="application/json", headers=NO_STORE)


def _line(value: Any) -> bytes:
    return encode(value) + b"\n"


@router.post("/runs/{run}/rollouts/text", response_class=Response)
def text(library: Lib, run: RunId, ask: TextAsk) -> Response:
    """The rest of a long text, from a character on: lines of JSON, each a piece of it, so that no reader has to take it all at once."""
    if ask["field"] not in TEXTS:
        raise BadInput(f"no text {ask['field']!r} of a sample: there are {', '.join(TEXTS)}")
    with library.reading(run) as found:
        values = found.samples(ids=[ask["id"]], columns=["id", ask["field"]])[ask["field"]]
    if not len(values):
        raise NotFound(f"no sample {ask['id'][:80]!r} in this run")
    rest: str = (values[0] or "")[max(0, ask["start"]) :]
    return StreamingResponse(
        (_line(rest[at : at + PIECE]) for at in range(0, len(rest), PIECE)),
        media_type="application/x-ndjson",
        headers=NO_STORE,
    )


@router.post("/runs/{run}/rollouts/previews", response_class=Response)
def previews(library: Lib, run: RunId, ask: Ids) -> Response:
    """The first words of some samples' prompts."""
    if len(ask["ids"]) > 400:
        raise BadInput(f"at most 400 previews at a time, not {len(ask['ids'])}: ask for the rows on the screen")
    with library.reading(run) as found:
        columns = found.samples(ids=ask["ids"], columns=["id", "prompt", "messages"])
    lines = [line(p, m) for p, m in zip(columns["prompt"], columns["messages"], strict=True)]
    return text_reply({"lines": dict(zip(columns["id"].tolist(), lines, strict=True))})


def line(prompt: str | None, messages: Any = None) -> str:
    """A prompt in a line: its text, else the last thing a user said."""
    if not prompt and isinstance(messages, Sequence):
        said = [m.get("content") for m in messages if isinstance(m, Mapping) and m.get("role") == "user"]
        prompt = str(said[-1]) if said else ""
    return " ".join((prompt or "")[: 4 * LINE].split())[:LINE]


@router.get("/runs/{run}/visits", response_class=Response)
def visits(library: Lib, run: RunId, step: Annotated[int, Query(ge=-(2**53), le=2**53)]) -> Response:
    """For each task of a step: when it was last tried before, and its mean reward then."""
    with library.reading(run) as found:
        h = histories.history(found)
    at = np.flatnonzero(h["step"] == step)
    at = at[at > 0]
    before = at[h["task"][at - 1] == h["task"][at]] - 1
    return text_reply(
        {"tasks": {h["names"][h["task"][i]]: [int(h["step"][i]), float(h["mean"][i])] for i in before.tolist()}}
    )


@router.get("/runs/{run}/prompts", response_class=Response, responses=PACKED)
def prompts(library: Lib, run: RunId) -> Response:
    """Every prompt with its visits: solved, forgotten (was solved, is not), never solved."""
    with library.reading(run) as found:
        h, each = histories.history(found), histories.prompts(found)
        span, known = rollouts.steps(found), rollouts.samples_of_tasks(found)
        low, high = ranges_of_run(found, h)
    head = {
        "tasks": each["task"].tolist(),
        "status": each["status"].tolist(),
        "samples": [known.get(task, "") for task in each["task"].tolist()],
        "first": int(span[0]) if len(span) else 0,
        "last": int(span[-1]) if len(span) else 0,
        "range": [low, high],
    }
    columns = {
        "count": each["steps"].astype(np.uint32),
        "step": h["step"].astype(np.float64),
        "mean": h["mean"].astype(np.float64),
        "n": h["n"].astype(np.uint32),
        "passed": h["passed"].astype(np.float64),
    }
    return reply(head, columns)


def ranges_of_run(run: Run, h: Mapping[str, Any]) -> list[float]:
    pairs = [pair for env in (run.declared.get("environments") or {"": {}}) if (pair := _declared(run, env))]
    return [min(p[0] for p in pairs), max(p[1] for p in pairs)] if pairs else _seen(np.asarray(h["mean"], np.float64))


@router.get("/runs/{run}/prompts/visits", response_class=Response)
def prompt_visits(
    library: Lib, run: RunId, task: Annotated[str, Query(max_length=100_000)], near: Step = None
) -> Response:
    """The same prompt over the steps: its groups with the reward of each answer, the newest visits (or those up to a step)."""
    with library.reading(run) as found:
        h = histories.history(found)
        at = h["names"].index(task) if task in h["names"] else -1
        known = h["step"][h["task"] == at]
        chosen = (
            known[-VISITS:]
            if near is None
            else known[: int(np.searchsorted(known, near, "right")) + VISITS // 2][-VISITS:]
        )
        rows = (
            found.samples_of_steps(["id", "step", "group", "task", "reward", "split"], chosen.tolist())
            if len(chosen)
            else None
        )
    if rows is None:
        return text_reply({"visits": [], "total": 0})
    columns = arrow.numpy(rows, tables.types("samples"))
    groups: dict[tuple[int, str], list[Any]] = {}
    for id, step, group, name, reward, split in zip(
        *(columns[c] for c in ("id", "step", "group", "task", "reward", "split")), strict=True
    ):
        if name == task and split != "eval":
            groups.setdefault((int(step), str(group or task)), []).append([id, _plain(reward)])
    return text_reply(
        {"visits": [{"step": s, "group": g, "samples": v} for (s, g), v in sorted(groups.items())], "total": len(known)}
    )
