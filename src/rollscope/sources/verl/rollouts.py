"""Training rollouts of veRL as samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rollscope.sources.intake.gather import digest, number
from rollscope.sources.live.text import Decoder
from rollscope.sources.live.values import scalar

from .batch import SCORES, TOKENS, Array, Batch
from .turns import turns

Columns = dict[str, list[Any]]  # name -> one value a sample

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
    prompts = _decoded_once(batch.tokens["prompts"], decoder)
    words = [row.tolist() for row in batch.tokens["responses"]]
    wrote, kept = _masks(batch)
    found: Columns = {
        "id": batch.ids,
        "split": ["train"] * len(batch.ids),
        "prompt": prompts,
        "completion": decoder.texts(words),
        "stop_reason": [_stop(ids, decoder.end, batch.longest) for ids in words],
        **_origins(batch, prompts),
        **_tokens(batch, wrote),
        **_rewards(batch),
        **_versions(batch),
        "turns": _turns(batch, words, wrote, decoder),
        **_seconds(batch),
        **_totals(batch, wrote, kept),
    }
    return {name: values for name, values in found.items() if any(value is not None for value in values)}


def _decoded_once(rows: list[Array], decoder: Decoder) -> list[str]:
    """Texts of rows of which many are the same: a group has one prompt."""
    keys = [row.tobytes() for row in rows]
    different = dict(zip(keys, rows, strict=True))
    texts = dict(zip(different, decoder.texts([row.tolist() for row in different.values()]), strict=True))
    return [texts[key] for key in keys]


def _masks(batch: Batch) -> tuple[list[Array], list[Array]]:
    """What the policy wrote, and what of it is in the loss: veRL may reject samples."""
    kept = batch.tokens.get("response_mask") or [np.ones(len(ids), np.int64) for ids in batch.tokens["responses"]]
    return batch.tokens.get("loss_mask") or kept, kept


def _totals(batch: Batch, wrote: list[Array], kept: list[Array]) -> dict[str, list[Any]]:
    """What is summed over the tokens of each sample; of all samples at once, which is cheaper."""
    inside = _sums(kept)
    totals: dict[str, list[Any]] = {
        "completion_tokens": [int(n) for n in _sums(wrote)],
        "trained": [bool(n) for n in inside],
        "discard_reason": [None if n else "masked" for n in inside],
    }
    for name, theirs in (("score", SCORES), ("reward", ("token_level_rewards", *SCORES))):
        found = next((one for one in theirs if one in batch.tokens), None)
        if found is not None:  # veRL puts what a sample got on one of its tokens
            sums = zip(_sums(batch.tokens[found]), batch.tokens[found], strict=True)
            totals[name] = [total if len(row) else None for total, row in sums]
    if "advantages" in batch.tokens:
        weighed = _sums([a * m for a, m in zip(batch.tokens["advantages"], kept, strict=True)])
        totals["advantage"] = [total / n if n else None for total, n in zip(weighed, inside, strict=True)]
    return totals


def _sums(rows: list[Array]) -> list[float]:
    lengths = np.array([len(row) for row in rows])
    starts, sums = np.cumsum(lengths) - lengths, np.zeros(len(rows))
    if lengths.any():
        sums[lengths > 0] = np.add.reduceat(np.concatenate(rows).astype(np.float64), starts[lengths > 0])
    found: list[float] = sums.tolist()
    return found


def _origins(batch: Batch, prompts: list[str]) -> Columns:
    tasks: dict[str, str] = {}  # prompt -> its task
    sources, groups = (_texts(batch.column(name)) for name in ("data_source", "uid"))
    extras, models = batch.column("extra_info"), batch.column("reward_model")
    seen: dict[str | None, int] = {}
    columns: Columns = {"group": groups, "repeat": [], "task": [], "env": sources, "answer": []}
    for i, group in enumerate(groups):
        seen[group] = seen.get(group, -1) + 1
        columns["repeat"].append(None if group is None else seen[group])
        index = extras[i].get("index") if isinstance(extras[i], Mapping) else None
        task = f"{sources[i] or 'prompt'}/{index}" if index is not None else tasks.get(prompts[i])
        columns["task"].append(task or tasks.setdefault(prompts[i], digest(prompts[i])))
        answer = models[i].get("ground_truth") if isinstance(models[i], Mapping) else None
        columns["answer"].append(_text(answer))
    return columns


def _tokens(batch: Batch, wrote: list[Array]) -> Columns:
    ids = batch.tokens["responses"]
    lengths = [len(row) for row in ids]
    columns: Columns = {
        "token_ids": ids,
        "action_mask": wrote,
        "prompt_tokens": [len(row) for row in batch.tokens["prompts"]],
        "response_tokens": lengths,
    }
    for theirs, ours in TOKENS.items():
        if theirs in batch.tokens:
            pairs = zip(batch.tokens[theirs], lengths, strict=True)
            columns[ours] = [values if len(values) == length else None for values, length in pairs]
    return columns


def _rewards(batch: Batch) -> Columns:
    """Rewards by part; what the reward function gave that is no number goes to `extra`."""
    infos = batch.column("reward_extra_info")
    parts = {name: batch.column(name) for name in batch.parts}
    others = {name: batch.column(name) for name in ("turn_scores", "tool_rewards") if name in batch.words}
    rewards: list[Any] = []
    extras: list[Any] = []
    for i, info in enumerate(infos):
        own = info if isinstance(info, Mapping) else {name: values[i] for name, values in parts.items()}
        numbers = {str(name): value for name, raw in own.items() if (value := _number(raw)) is not None}
        words = {str(name): value for name, value in own.items() if value is not None and str(name) not in numbers}
        words |= {name: values[i] for name, values in others.items() if values[i]}
        rewards.append(numbers or None)
        extras.append(words or None)
    return {"rewards": rewards, "extra": extras}


def _versions(batch: Batch) -> Columns:
    missing = batch.now if batch.on_policy else None
    oldest, newest = (
        [missing if (value := _number(raw)) is None else int(value) for raw in batch.column(name)]
        for name in ("min_global_steps", "max_global_steps")
    )
    stale = [None if batch.now is None or version is None else batch.now - version for version in oldest]
    return {"policy_version_min": oldest, "policy_version_max": newest, "off_policy_steps": stale}


def _turns(batch: Batch, words: list[list[int]], wrote: list[Array], decoder: Decoder) -> list[Any]:
    """The turns with their texts where there are several, else how many there were."""
    counts = batch.column("num_turns" if "num_turns" in batch.words else "__num_turns__")
    found: list[Any] = []
    for ids, mask, raw in zip(words, wrote, counts, strict=True):
        both = _number(raw)  # veRL counts both sides
        several = turns(ids, mask, decoder.texts)
        found.append(several or (None if both is None else max(1, int(both) // 2)))
    return found


def _seconds(batch: Batch) -> Columns:
    measured = [given if isinstance(given, Mapping) else {} for given in batch.column("metrics")]
    columns: Columns = {}
    for ours, (queue, fully_async) in SECONDS.items():
        pairs = zip(measured, batch.column(fully_async), strict=True)
        columns[ours] = [_number(given.get(queue, other)) for given, other in pairs]
    return columns


def _stop(ids: list[int], end: int | None, longest: int | None) -> str | None:
    if not ids:
        return "aborted"
    if end is not None and ids[-1] == end:
        return "stop"
    return "length" if longest is not None and len(ids) >= longest else None


def _number(value: Any) -> float | None:
    return value if value is None or type(value) is float else number(scalar(value))


def _texts(values: list[Any]) -> list[str | None]:
    return [_text(value) for value in values]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
