"""SkyRL's training batches as samples: tokens, masks, log-probabilities, advantages and groups.

Sequences stand at the end of rows that are filled up at the front, and the last rows may be copies
that make the batch a multiple of the GPUs. The trainer takes rewards and ids out before it dumps;
which rows are of one prompt is known from the bounds that it keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rollscope.sources import Item, Since, SourceError
from rollscope.sources.dumps import columns
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, once
from rollscope.sources.files.torch_archive import DAMAGE
from rollscope.sources.intake.gather import digest, whole

from . import pickled

SUFFIX = ".pkl"
FILE = re.compile(r"global_step_(\d{1,18})_training_input\.pkl")
WHOLE = ("sequences", "attention_mask")  # over prompt and response; the others are over the response
STREAMS = {
    "old_logp": "action_log_probs",
    "ref_logp": "base_action_log_probs",
    "rollout_logp": "rollout_logprobs",
    "token_advantages": "advantages",
}
TENSORS = (*WHOLE, "response_mask", "loss_mask", *STREAMS.values(), "rewards", "values", "returns")
Tensors = Mapping[str, np.ndarray[Any, Any]]


def recognises(path: Path) -> bool:
    if not path.is_file() or not FILE.fullmatch(path.name):
        return False
    with path.open("rb") as file:
        return file.read(1) == b"\x80"


def rows(path: Path, since: Since) -> Iterator[Item]:
    match = FILE.fullmatch(path.name)
    assert match is not None
    step, folder = int(match[1]), path.parent
    place = Place(
        framework="skyrl",
        folder=folder.parent if folder.name == "dumped_data" else folder,
        name=f"train/{step}",
        step=step,
        kind="batches",
    )
    yield from once(path, since, place, _sequences(path), _sample)


def _sequences(path: Path) -> Iterator[Row]:
    """The sequences of a batch without those that fill it up, each with its group and task."""
    told, facts = pickled.load(path)
    tensors = _tensors(told)
    begins, last, group = _begins(facts), facts.get("is_last_step"), -1
    for i in range(len(tensors["sequences"]) - max(0, whole(facts.get("pad_size")) or 0)):
        one = {name: tensor[i] for name, tensor in tensors.items()}
        if i == 0 or i in begins or not begins:
            group, task = group + 1, digest(" ".join(map(str, _prompt(one).tolist())))
        is_last = last[i] if isinstance(last, list) and i < len(last) else None
        more = {"is_last_step": is_last} if isinstance(is_last, bool) else None
        yield {**one, "task": task, "group": group if begins else task, "extra": more}


def _tensors(told: Mapping[str, Any]) -> Tensors:
    """The tensors that are read. Raises `SourceError` if they do not fit together."""
    try:
        found = {name: array for name in TENSORS if (array := pickled.tensor(told.get(name))) is not None}
    except (*DAMAGE, ValueError, TypeError, AttributeError, IndexError) as error:
        raise SourceError(f"a tensor cannot be read: {error}") from error
    for name in (*WHOLE, "response_mask"):
        if name not in found or found[name].ndim != 2:
            raise SourceError(f"it has no tensor {name!r} of rows of tokens: no batch of SkyRL's trainer")
    for name, array in found.items():
        like = "sequences" if name in WHOLE else "response_mask"
        if array.shape != found[like].shape or len(array) != len(found["sequences"]):
            raise SourceError(f"its tensors {name!r} and {like!r} have the shapes {array.shape}, {found[like].shape}")
    if found["sequences"].dtype.kind not in "iu":
        raise SourceError(f"its tokens are {found['sequences'].dtype} numbers, not whole ones")
    if (_count(found["response_mask"]) > _count(found["attention_mask"])).any():
        raise SourceError("a response has more tokens than its whole sequence")
    return found


def _count(mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray((mask != 0).sum(axis=-1))


def _begins(facts: Mapping[str, Any]) -> set[int]:
    """The rows at which a prompt's sequences begin; empty if the batch does not say."""
    bounds = facts.get("policy_prompt_boundaries")
    pairs = [one for one in bounds if isinstance(one, tuple | list) and one] if isinstance(bounds, list) else []
    return {begin for one in pairs if (begin := whole(one[0])) is not None}


def _prompt(one: Row) -> np.ndarray[Any, Any]:
    """The tokens before the response."""
    ids = one["sequences"][one["attention_mask"] != 0]
    return np.asarray(ids[: len(ids) - _count(one["response_mask"])])


def _sample(row: Row, spot: Spot) -> Tables:
    place, said = spot.place, row["response_mask"] != 0
    prompt = len(_prompt(row))
    found = {name: row[name][said] for name in TENSORS if name in row and name not in WHOLE}
    group = f"{place.name}/{row['group']}"
    sample = {
        "id": spot.id,
        "step": place.step,
        "time_ns": spot.time_ns,
        "split": place.split,
        "group": group,
        "task": row["task"],
        "repeat": place.repeats.number(group),
        "reward": float(found["rewards"].sum()) if "rewards" in found else None,
        "advantage": _mean(found.get("advantages")),
        "sample_metrics": _critic(found),
        "prompt_tokens": prompt,
        "response_tokens": int(said.sum()),
        "token_ids": row["sequences"][row["attention_mask"] != 0][prompt:].tolist() or None,
        **{ours: found[theirs].tolist() for ours, theirs in STREAMS.items() if theirs in found},
        **_masked(found.get("loss_mask")),
        "extra": row["extra"],
    }
    return {"samples": [columns.known(sample)]}


def _masked(loss: np.ndarray[Any, Any] | None) -> dict[str, Any]:
    """Which tokens the policy wrote. Of a sequence that is masked as a whole, that is not known."""
    if loss is None:
        return {}
    mask = (loss != 0).astype(int)
    if not mask.any():
        return {"trained": False, "discard_reason": "masked"}
    action = None if mask.all() else mask.tolist()
    return {"trained": True, "completion_tokens": int(mask.sum()), "action_mask": action}


def _critic(found: Tensors) -> dict[str, float] | None:
    """What the critic expected and what it learns from, as means over the tokens."""
    if "values" not in found:
        return None
    means = {"value": _mean(found["values"]), "return": _mean(found.get("returns"))}
    return columns.known(means) or None


def _mean(values: np.ndarray[Any, Any] | None) -> float | None:
    return float(values.mean()) if values is not None and len(values) else None
