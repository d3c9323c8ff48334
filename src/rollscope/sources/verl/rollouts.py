"""Training rollouts of veRL as samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rollscope.sources.intake.gather import digest, number
from rollscope.sources.live.values import scalar

from .batch import SCORES, TOKENS, Array, Batch
from .turns import turns

SECONDS = {  # ours -> veRL's, in TransferQueue and in the fully asynchronous trainer
    "generate_seconds": ("generate_sequences", "processing_times"),
    "tool_seconds": ("tool_calls", "tool_calls_times"),
    "reward_seconds": ("compute_score", "compute_score"),
}


def samples(batch: Batch, tokenizer: Any) -> list[dict[str, Any]]:
    """The samples of a batch, with their text."""
    prompts = _decoded_once(batch.tokens["prompts"], tokenizer)
    completions = _decode(batch.tokens["responses"], tokenizer)
    wrote, kept = _masks(batch)
    totals, end = _totals(batch, wrote, kept), getattr(tokenizer, "eos_token_id", None)
    return [
        {
            "id": id,
            "split": "train",
            "prompt": prompts[i],
            "completion": completions[i],
            "stop_reason": _stop(batch, i, end),
            **_sample(batch, i, prompts[i], wrote[i], tokenizer),
            **{name: values[i] for name, values in totals.items() if values[i] is not None},
        }
        for i, id in enumerate(batch.ids)
    ]


def _decode(rows: list[Array], tokenizer: Any) -> list[str]:
    """Texts as `tokenizer.decode` gives them; most of its time is not spent in decoding."""
    ids, fast = [row.tolist() for row in rows], getattr(tokenizer, "backend_tokenizer", None)
    if fast is not None and getattr(tokenizer, "clean_up_tokenization_spaces", None) is False:
        return [fast.decode(one, skip_special_tokens=True) for one in ids]
    texts: list[str] = tokenizer.batch_decode(ids, skip_special_tokens=True)
    return texts


def _decoded_once(rows: list[Array], tokenizer: Any) -> list[str]:
    """Texts of rows of which many are the same: a group has one prompt."""
    different = {row.tobytes(): row for row in rows}
    texts = dict(zip(different, _decode(list(different.values()), tokenizer), strict=True))
    return [texts[row.tobytes()] for row in rows]


def _sample(batch: Batch, i: int, prompt: str, wrote: Array, tokenizer: Any) -> dict[str, Any]:
    every = {
        **_origin(batch, i, prompt),
        **_tokens(batch, i, wrote),
        **_rewards(batch, i),
        **_versions(batch, i),
        **_turns(batch, i, wrote, tokenizer),
        **_seconds(batch, i),
    }
    return {key: value for key, value in every.items() if value is not None}


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


def _origin(batch: Batch, i: int, prompt: str) -> dict[str, Any]:
    source, extra, model = (batch.word(i, name) for name in ("data_source", "extra_info", "reward_model"))
    index = extra.get("index") if isinstance(extra, Mapping) else None
    group = _text(batch.word(i, "uid"))
    repeat = None if group is None else batch.seen.get(group, 0)
    if group is not None and repeat is not None:
        batch.seen[group] = repeat + 1
    return {
        "group": group,
        "repeat": repeat,
        "task": digest(prompt) if index is None else f"{source or 'prompt'}/{index}",
        "env": _text(source),
        "answer": _text(model.get("ground_truth")) if isinstance(model, Mapping) else None,
    }


def _tokens(batch: Batch, i: int, wrote: Array) -> dict[str, Any]:
    ids = batch.tokens["responses"][i]
    columns = {ours: batch.tokens[theirs][i] for theirs, ours in TOKENS.items() if theirs in batch.tokens}
    return {
        "token_ids": ids,
        "action_mask": wrote,
        "prompt_tokens": len(batch.tokens["prompts"][i]),
        "response_tokens": len(ids),
        **{name: values for name, values in columns.items() if len(values) == len(ids)},
    }


def _rewards(batch: Batch, i: int) -> dict[str, Any]:
    """Rewards by part; what the reward function gave that is no number goes to `extra`."""
    info = batch.word(i, "reward_extra_info")
    parts = dict(info) if isinstance(info, Mapping) else {name: batch.word(i, name) for name in batch.parts}
    numbers = {str(name): value for name, raw in parts.items() if (value := number(scalar(raw))) is not None}
    others = {str(name): value for name, value in parts.items() if str(name) not in numbers and value is not None}
    others |= {name: given for name in ("turn_scores", "tool_rewards") if (given := batch.word(i, name))}
    return {"rewards": numbers or None, "extra": others or None}


def _versions(batch: Batch, i: int) -> dict[str, Any]:
    oldest, newest = (_version(batch, i, name) for name in ("min_global_steps", "max_global_steps"))
    stale = batch.now - oldest if batch.now is not None and oldest is not None else None
    return {"policy_version_min": oldest, "policy_version_max": newest, "off_policy_steps": stale}


def _version(batch: Batch, i: int, name: str) -> int | None:
    value = number(scalar(batch.word(i, name)))
    return int(value) if value is not None else batch.now if batch.on_policy else None


def _turns(batch: Batch, i: int, wrote: Array, tokenizer: Any) -> dict[str, Any]:
    """The turns with their texts where there are several, else how many there were."""
    several = turns(batch.tokens["responses"][i], wrote, lambda rows: _decode(rows, tokenizer))
    both = number(scalar(batch.word(i, "num_turns" if "num_turns" in batch.words else "__num_turns__")))
    return {"turns": several or (None if both is None else max(1, int(both) // 2))}  # veRL counts both sides


def _seconds(batch: Batch, i: int) -> dict[str, Any]:
    metrics = batch.word(i, "metrics")
    given = metrics if isinstance(metrics, Mapping) else {}
    return {
        ours: number(scalar(given.get(queue, batch.word(i, fully_async))))
        for ours, (queue, fully_async) in SECONDS.items()
    }


def _stop(batch: Batch, i: int, end: int | None) -> str | None:
    ids = batch.tokens["responses"][i]
    if not len(ids):
        return "aborted"
    if end is not None and int(ids[-1]) == end:
        return "stop"
    return "length" if batch.longest is not None and len(ids) >= batch.longest else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
