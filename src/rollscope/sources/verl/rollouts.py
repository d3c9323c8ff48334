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
    return [_sample(batch, i, prompts[i], completions[i], tokenizer) for i in range(len(batch.ids))]


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


def _sample(batch: Batch, i: int, prompt: str, completion: str, tokenizer: Any) -> dict[str, Any]:
    wrote, kept = _masks(batch, i)
    every = {
        "id": batch.ids[i],
        "split": "train",
        "prompt": prompt,
        "completion": completion,
        **_origin(batch, i, prompt),
        **_tokens(batch, i, wrote),
        **_rewards(batch, i, kept),
        **_versions(batch, i),
        **_turns(batch, i, wrote, tokenizer),
        **_seconds(batch, i),
        "stop_reason": _stop(batch, i, tokenizer),
        "trained": bool(kept.any()),
        "discard_reason": None if kept.any() else "masked",
    }
    return {key: value for key, value in every.items() if value is not None}


def _masks(batch: Batch, i: int) -> tuple[Array, Array]:
    """What the policy wrote, and what of it is in the loss: veRL may reject samples."""
    ids = batch.tokens["responses"][i]
    kept = batch.tokens["response_mask"][i] if "response_mask" in batch.tokens else np.ones(len(ids), np.int64)
    wrote = batch.tokens["loss_mask"][i] if "loss_mask" in batch.tokens else kept
    return wrote.astype(np.int64), kept.astype(bool)


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
        "completion_tokens": int(wrote.sum()),
        "response_tokens": len(ids),
        **{name: values for name, values in columns.items() if len(values) == len(ids)},
    }


def _rewards(batch: Batch, i: int, kept: Array) -> dict[str, Any]:
    info = batch.word(i, "reward_extra_info")
    parts = dict(info) if isinstance(info, Mapping) else {name: batch.word(i, name) for name in batch.parts}
    numbers = {str(name): value for name, raw in parts.items() if (value := number(scalar(raw))) is not None}
    others = {str(name): value for name, value in parts.items() if str(name) not in numbers and value is not None}
    others |= {name: given for name in ("turn_scores", "tool_rewards") if (given := batch.word(i, name))}
    advantages = batch.tokens["advantages"][i][kept] if "advantages" in batch.tokens else np.empty(0)
    return {
        "score": _total(batch, i, *SCORES),
        "reward": _total(batch, i, "token_level_rewards", *SCORES),
        "rewards": numbers or None,
        "advantage": float(advantages.mean()) if len(advantages) else None,
        "extra": others or None,
    }


def _total(batch: Batch, i: int, *names: str) -> float | None:
    """What a sample got: veRL puts it on one of its tokens."""
    name = next((name for name in names if name in batch.tokens), None)
    return None if name is None else float(np.sum(batch.tokens[name][i], dtype=np.float64))


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


def _stop(batch: Batch, i: int, tokenizer: Any) -> str | None:
    ids, end = batch.tokens["responses"][i], getattr(tokenizer, "eos_token_id", None)
    if not len(ids):
        return "aborted"
    if end is not None and int(ids[-1]) == end:
        return "stop"
    return "length" if batch.longest is not None and len(ids) >= batch.longest else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
