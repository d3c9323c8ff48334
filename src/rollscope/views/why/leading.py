"""A `Why` for the page: the leading groups with their prompts' first words, the rest summed."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from rollscope.store.run import Run
from rollscope.views.samples.groups import group_name
from rollscope.views.samples.previews import preview

from .why import Part, Why


class WhyPart(TypedDict):
    group: str
    task: str
    prompt: str
    adds: float
    count: int
    mean: float


class WhyRest(TypedDict):
    """The groups beyond the listed ones, by direction."""

    down: int
    down_adds: float
    up: int
    up_adds: float


class WhyKind(TypedDict):
    name: str
    more: float
    each: float
    share: float
    share_before: float
    mean: float | None
    mean_before: float | None


class WhyShape(TypedDict):
    metric: str
    step: int
    against: int
    since: int
    against_since: int
    asked: int
    now: float | None
    before: float | None
    change: float | None
    parts: list[WhyPart]
    rest: WhyRest
    kinds: dict[str, list[WhyKind]]
    counted: list[int]
    left_out: list[int]
    population: str
    recorded: list[float | None]
    agrees: bool | None


def leading(run: Run, why: Why, asked: int, top: int) -> WhyShape:
    """The `top` groups in full and the rest as sums. `asked` is the step that was asked for."""
    values: dict[str, Any] = why.json()
    ranges = values["since"] != why.step or values["against_since"] != why.against
    prompts = {} if ranges else _prompts(run, why.step, {part.group for part in why.parts[:top]})
    parts = [{**part, "prompt": prompts.get(part["group"], "")} for part in values["parts"][:top]]
    return {**values, "asked": asked, "parts": parts, "rest": _rest(why.parts[top:])}  # type: ignore[typeddict-item]


def _rest(parts: tuple[Part, ...]) -> WhyRest:
    down, up = [part.adds for part in parts if part.adds < 0], [part.adds for part in parts if part.adds > 0]
    return {"down": len(down), "down_adds": sum(down), "up": len(up), "up_adds": sum(up)}


def _prompts(run: Run, step: int, groups: set[str]) -> dict[str, str]:
    """Group -> the first words of its prompt."""
    columns = run.samples(step=step, columns=["id", "group", "task"])
    names = [group_name(*row) for row in zip(columns["group"], columns["task"], columns["id"], strict=True)]
    sample_of = {name: id for name, id in zip(names, columns["id"], strict=True) if name in groups and id}
    if not sample_of:
        return {}
    texts = run.samples(ids=list(sample_of.values()), columns=["id", "prompt"])
    prompt_of = dict(zip(texts["id"], texts["prompt"], strict=True))
    return {group: preview(prompt_of.get(id)) for group, id in sample_of.items()}
