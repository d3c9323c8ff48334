"""An operator of Trinity-RFT's experience pipeline that records every experience of the explorer.

It changes nothing: the experiences go on as they came. It joins the run of the monitors, so it is
told the same project and name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from trinity.buffer.operators import ExperienceOperatorV1

from rollscope.sources.dumps.chat import chat
from rollscope.sources.intake.gather import number, whole
from rollscope.sources.intake.tables import text
from rollscope.sources.live.quiet import quiet
from rollscope.sources.verl.batch import array

from .files import task_of
from .monitor import started

TOKENS = {"logprobs": "rollout_logp", "action_mask": "action_mask", "advantages": "token_advantages"}


class RollscopeOperator(ExperienceOperatorV1):  # type: ignore[misc]
    def __init__(self, project: str, name: str, **options: Any) -> None:
        self._run: Any = None
        self._begin(project, name, options)

    @quiet
    def _begin(self, project: str, name: str, options: Mapping[str, Any]) -> None:
        self._run = started(project, name, **options)

    async def process(self, exps: list[Any]) -> tuple[list[Any], dict[str, float]]:
        self._record(exps)
        return exps, {}

    @quiet
    def _record(self, exps: list[Any]) -> None:
        for step in sorted({_batch(exp) for exp in exps}) if self._run is not None else ():
            self._run.log_samples([sample(exp) for exp in exps if _batch(exp) == step], step=step)

    async def close(self) -> None:
        self._end()

    @quiet
    def _end(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            run.finish()


def _batch(exp: Any) -> int:
    """The explorer's step; evaluations and benchmarks put words before it."""
    digits = re.search(r"(\d{1,18})$", str(exp.eid.batch))
    return int(digits[1]) if digits else 0


def sample(exp: Any) -> dict[str, Any]:
    """An experience as a sample. Several steps of one rollout are samples of one repeat."""
    eid, info = exp.eid, exp.info or {}
    version, drift = whole(info.get("model_version")), whole(info.get("model_version_drift")) or 0
    known: dict[str, Any] = {
        "id": f"{eid.batch}/{eid.task}/{eid.run}/{eid.step}/{eid.suffix}",
        "split": "train",
        "group": f"{eid.batch}/{eid.task}",
        "task": task_of({"prompt_text": exp.prompt_text}, eid.task),
        "repeat": whole(eid.run),
        "reward": number(exp.reward),
        "policy_version_min": version,
        "policy_version_max": None if version is None else version + drift,
        "prompt": text(exp.prompt_text),
        "completion": text(exp.response_text),
        "stop_reason": "length" if exp.truncate_status == "response_truncated" else None,
        "sample_metrics": {name: number(value) for name, value in (exp.metrics or {}).items()} or None,
        **_tokens(exp),
        **_turns(exp),
    }
    return {name: value for name, value in known.items() if value is not None}


def _tokens(exp: Any) -> dict[str, Any]:
    if exp.tokens is None:
        return {}
    ids, prompt = array(exp.tokens), int(exp.prompt_length)
    values = {ours: getattr(exp, theirs, None) for theirs, ours in TOKENS.items()}
    known = {ours: array(value) for ours, value in values.items() if value is not None}
    length = len(ids) - prompt
    wrote = known.get("action_mask")
    return {
        "token_ids": ids[prompt:],
        "prompt_tokens": prompt,
        "response_tokens": length,
        "completion_tokens": length if wrote is None else int(wrote.sum()),
        **{ours: value for ours, value in known.items() if len(value) == length},
    }


def _turns(exp: Any) -> dict[str, Any]:
    """The conversation, with its turns if there are several."""
    told = chat(exp.messages)
    if told is None:
        return {}
    rows = told.turns("", 0)
    turns = [{name: row[name] for name in row if name not in ("sample", "turn", "step")} for row in rows]
    several = sum(turn["role"] == "assistant" for turn in turns) > 1 or any(turn.get("tool") for turn in turns)
    return {"messages": list(told.messages), "turns": turns if several else 1}
