"""NeMo-RL's dumps of a step: `train_data_step{N}.jsonl` and `val_data_step{N}.jsonl`.

A line is one sample, and each value in it is a list of one. Training lines have the whole text
without the place where the answer begins; tokens, masks and log-probabilities say which tokens the
policy wrote. Samples whose prompts have the same tokens are a group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rollscope.sources.dumps import columns
from rollscope.sources.dumps.chat import chat
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing
from rollscope.sources.intake.gather import digest, number, whole
from rollscope.sources.intake.tables import text

from . import Item, Since

NAMES = ("nemo_rl", "nemo-rl step data")
FILE = re.compile(r"(train|val)_data_step(\d{1,18})\.jsonl")
STREAMS = {"rollout_logp": "generation_logprobs", "old_logp": "prev_logprobs", "token_advantages": "advantages"}
OWN = (
    *("content", "rewards", "filtered_rewards", "input_lengths", "token_ids", "token_loss_mask", "sample_loss_mask"),
    *("advantages", "generation_logprobs", "prev_logprobs", "agent_ref", "idx"),
)


def recognises(path: Path) -> bool:
    return path.is_file() and FILE.fullmatch(path.name) is not None


def rows(path: Path, since: Since) -> Iterator[Item]:
    match = FILE.fullmatch(path.name)
    assert match is not None
    split, step = "eval" if match[1] == "val" else "train", int(match[2])
    place = Place(framework="nemo_rl", folder=path.parent, name=f"{split}/{step}", step=step, split=split)
    yield from growing(path, since, place, _sample)


def _sample(row: Row, spot: Spot) -> Tables:
    one = {name: _single(value) for name, value in row.items()}
    place, talk = spot.place, chat(one.get("content"))
    tokens = _tokens(one)
    ids = one.get("token_ids")
    asked = talk.prompt if talk else str(ids[: tokens["prompt_tokens"]]) if isinstance(ids, list) else str(spot.row)
    task = digest(asked or "")
    advantage = [value for value in tokens.get("token_advantages") or [] if number(value) is not None]
    sample = {
        "id": spot.id,
        "step": place.step,
        "time_ns": spot.time_ns,
        "split": place.split,
        "group": f"{place.name}/{task}",
        "task": task,
        "repeat": place.repeats.number(task),
        "reward": number(one.get("rewards")),
        "env": _agent(one.get("agent_ref")),
        "advantage": sum(advantage) / len(advantage) if advantage else number(one.get("advantages")),
        **(talk.columns() if talk else {"completion": text(one.get("content"))}),
        **tokens,
        **_fate(number(one.get("sample_loss_mask"))),
        **columns.rest(one, OWN),
    }
    return {"samples": [columns.known(sample)], "turns": talk.turns(spot.id, place.step) if talk else []}


def _single(value: Any) -> Any:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _tokens(one: Mapping[str, Any]) -> dict[str, Any]:
    ids, mask = one.get("token_ids"), one.get("token_loss_mask")
    if not isinstance(ids, list) or not isinstance(mask, list):
        return {}
    length = min(whole(one.get("input_lengths")) or len(ids), len(ids))
    return columns.tokens(ids, mask, length, **{ours: one.get(theirs) for ours, theirs in STREAMS.items()})


def _fate(mask: float | None) -> dict[str, Any]:
    if mask is None:
        return {}
    return {"trained": True} if mask else {"trained": False, "discard_reason": "masked"}


def _agent(agent: Any) -> str | None:
    name = agent.get("name") if isinstance(agent, Mapping) else agent
    return None if name is None else str(name)
