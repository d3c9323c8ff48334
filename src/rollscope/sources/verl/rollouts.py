"""Training rollouts of veRL as samples."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from operator import eq
from typing import Any

import numpy as np

from rollscope.record.caller.sample import Turns
from rollscope.sources.intake.gather import digest, number
from rollscope.sources.live.text import Decoder, Spelled
from rollscope.sources.live.values import scalar
from rollscope.store.log.lists import Lists

from .batch import SCORES, TOKENS, Batch
from .turns import turns

Columns = dict[str, Any]  # name -> one value a sample: a list, `Lists`, or `Turns`

SECONDS = {  # ours -> veRL's, in TransferQueue and in the fully asynchronous trainer
    "generate_seconds": ("generate_sequences", "processing_times"),
    "tool_seconds": ("tool_calls", "tool_calls_times"),
    "reward_seconds": ("compute_score", "compute_score"),
}


def samples(batch: Batch, decoder: Decoder) -> list[dict[str, Any]]:
    """The samples of a batch, with their text."""
    known = columns(batch, decoder)
    rows = zip(*known.values(), strict=True)
    return [{name: value for name, value in zip(known, row, strict=True) if value is not None} for row in rows]


def columns(batch: Batch, decoder: Decoder) -> Columns:
    """The samples as columns that hold a value of any sample: they are made and kept faster so."""
    responses = batch.tokens["responses"]
    words = Spelled(decoder, responses.values.tolist())
    prompts = _decoded_once(batch.tokens["prompts"], decoder)
    wrote, kept = _masks(batch)
    found: Columns = {
        "id": batch.ids,
        "split": ["train"] * len(batch.ids),
        "prompt": prompts,
        "completion": words.texts([0, *responses.ends.tolist()]),
        "stop_reason": _stops(responses, decoder.end, batch.longest),
        **_origins(batch, prompts),
        **_tokens(batch, wrote),
        **_rewards(batch),
        **_versions(batch),
        "turns": turns(_fitted(wrote, responses), words, _turn_counts(batch)),
        **_seconds(batch),
        **_totals(batch, wrote, kept),
    }
    return {name: values for name, values in found.items() if _says_something(values)}


def _says_something(values: Any) -> bool:
    if type(values) is Lists:
        return True
    known = isinstance(values, Turns) and values.lengths.any()
    return bool(known) or any(value is not None for value in getattr(values, "counts", values))


def _decoded_once(rows: Lists, decoder: Decoder) -> list[str]:
    """Texts of rows of which many are the same: a group has one prompt."""
    keys = [row.tobytes() for row in rows]
    different = dict(zip(keys, rows, strict=True))
    texts = dict(zip(different, decoder.texts([row.tolist() for row in different.values()]), strict=True))
    return [texts[key] for key in keys]


def _masks(batch: Batch) -> tuple[Lists, Lists]:
    """What the policy wrote, and what of it is in the loss: veRL may reject samples."""
    responses = batch.tokens["responses"]
    kept = batch.tokens.get("response_mask") or Lists(np.ones(len(responses.values), np.int64), responses.lengths)
    return batch.tokens.get("loss_mask") or kept, kept


def _fitted(mask: Lists, ids: Lists) -> Lists:
    """The mask with a value for each token: what is missing is as the last one."""
    if np.array_equal(mask.ends, ids.ends):
        return mask
    pairs = zip(mask, ids.lengths.tolist(), strict=True)
    return Lists.of([np.append(row, np.repeat(row[-1:], length))[:length] for row, length in pairs])


def _totals(batch: Batch, wrote: Lists, kept: Lists) -> Columns:
    """What is summed over the tokens of each sample; of all samples at once, which is cheaper."""
    inside = kept.sums()
    totals: Columns = {
        "completion_tokens": wrote.sums().astype(np.int64).tolist(),
        "trained": (inside != 0).tolist(),
        "discard_reason": [None if n else "masked" for n in inside.tolist()],
    }
    for name, theirs in (("score", SCORES), ("reward", ("token_level_rewards", *SCORES))):
        found = next((batch.tokens[one] for one in theirs if one in batch.tokens), None)
        if found is not None:  # veRL puts what a sample got on one of its tokens
            pairs = zip(found.sums().tolist(), found.lengths.tolist(), strict=True)
            totals[name] = [total if length else None for total, length in pairs]
    advantages = batch.tokens.get("advantages")
    if advantages is not None and np.array_equal(advantages.ends, kept.ends):
        weighed = Lists(advantages.values * kept.values, kept.lengths).sums().tolist()
        totals["advantage"] = [total / n if n else None for total, n in zip(weighed, inside.tolist(), strict=True)]
    return totals


def _origins(batch: Batch, prompts: list[str]) -> Columns:
    sources, groups = (_texts(batch.column(name)) for name in ("data_source", "uid"))
    indices = _members(batch.column("extra_info"), "index")
    seen: dict[str | None, int] = {}
    repeats: list[int | None] = []
    for group in groups:
        seen[group] = seen.get(group, -1) + 1
        repeats.append(None if group is None else seen[group])
    tasks = {prompt: digest(prompt) for prompt, index in zip(prompts, indices, strict=True) if index is None}
    named = zip(indices, sources, prompts, strict=True)
    return {
        "group": groups,
        "repeat": repeats,
        "task": [tasks[p] if i is None else f"{source or 'prompt'}/{i}" for i, source, p in named],
        "env": sources,
        "answer": _texts(_members(batch.column("reward_model"), "ground_truth")),
    }


def _members(values: list[Any], name: str) -> list[Any]:
    """What each value holds under a name, where it is a mapping."""
    return [value.get(name) if type(value) is dict or isinstance(value, Mapping) else None for value in values]


def _tokens(batch: Batch, wrote: Lists) -> Columns:
    ids = batch.tokens["responses"]
    columns: Columns = {
        "token_ids": ids,
        "action_mask": wrote,
        "prompt_tokens": batch.tokens["prompts"].lengths.tolist(),
        "response_tokens": ids.lengths.tolist(),
    }
    for theirs, ours in TOKENS.items():
        if theirs in batch.tokens:
            columns[ours] = _as_long(batch.tokens[theirs], ids)
    return columns


def _as_long(values: Lists, ids: Lists) -> Lists | list[Any]:
    """The values of samples that have as many as tokens; None for the others."""
    if np.array_equal(values.ends, ids.ends):
        return values
    return [row if len(row) == length else None for row, length in zip(values, ids.lengths.tolist(), strict=True)]


def _rewards(batch: Batch) -> Columns:
    """Rewards by part; what the reward function gave that is no number goes to `extra`."""
    infos, names = batch.column("reward_extra_info"), batch.parts
    parts = zip(*(batch.column(name) for name in names), strict=True) if names else repeat((), len(batch.ids))
    given = [
        info if info is not None and isinstance(info, Mapping) else dict(zip(names, values, strict=True))
        for info, values in zip(infos, parts, strict=True)
    ]
    numbers = [{str(name): value for name, raw in own.items() if (value := _number(raw)) is not None} for own in given]
    return {"rewards": [found or None for found in numbers], "extra": _extras(batch, given, numbers)}


def _extras(batch: Batch, given: list[Mapping[str, Any]], numbers: list[dict[str, float]]) -> list[Any]:
    others = {name: batch.column(name) for name in ("turn_scores", "tool_rewards") if name in batch.words}
    if not others and all(map(eq, map(len, given), map(len, numbers))):
        return [None] * len(given)
    extras: list[Any] = []
    for i, (own, known) in enumerate(zip(given, numbers, strict=True)):
        words = {str(name): value for name, value in own.items() if value is not None and str(name) not in known}
        words |= {name: values[i] for name, values in others.items() if values[i]}
        extras.append(words or None)
    return extras


def _versions(batch: Batch) -> Columns:
    missing = batch.now if batch.on_policy else None
    oldest, newest = (
        [missing if (value := _number(raw)) is None else int(value) for raw in batch.column(name)]
        for name in ("min_global_steps", "max_global_steps")
    )
    stale = [None if batch.now is None or version is None else batch.now - version for version in oldest]
    return {"policy_version_min": oldest, "policy_version_max": newest, "off_policy_steps": stale}


def _turn_counts(batch: Batch) -> list[int | None]:
    """How many turns the policy had; veRL counts both sides."""
    both = map(_number, batch.column("num_turns" if "num_turns" in batch.words else "__num_turns__"))
    return [None if n is None else max(1, int(n) // 2) for n in both]


def _seconds(batch: Batch) -> Columns:
    columns: Columns = {}
    for ours, (queue, fully_async) in SECONDS.items():
        if not batch.words.keys().isdisjoint(("metrics", fully_async)):
            pairs = zip(_members(batch.column("metrics"), queue), batch.column(fully_async), strict=True)
            columns[ours] = [_number(other if own is None else own) for own, other in pairs]
    return columns


def _stops(responses: Lists, end: int | None, longest: int | None) -> list[str | None]:
    lengths = responses.lengths
    last = np.zeros(len(responses), np.int64)
    last[lengths > 0] = responses.values[responses.ends[lengths > 0] - 1]
    return [_stop(length, id == end, longest) for length, id in zip(lengths.tolist(), last.tolist(), strict=True)]


def _stop(length: int, ended: bool, longest: int | None) -> str | None:
    if not length:
        return "aborted"
    if ended:
        return "stop"
    return "length" if longest is not None and length >= longest else None


def _number(value: Any) -> float | None:
    return value if value is None or type(value) is float else number(scalar(value))


def _texts(values: list[Any]) -> list[str | None]:
    return [_text(value) for value in values]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
