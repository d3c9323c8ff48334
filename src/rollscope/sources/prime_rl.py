"""prime-rl and verifiers: episodes, numbers and exported tokens.

prime-rl's file monitor writes `rollouts/step_{N}/{train,eval}/{all,effective}/traces.jsonl` and
`metrics.jsonl`, an evaluation of verifiers writes `traces.jsonl`. A trace is a sample: `all` holds
what was generated, `effective` what was trained on. `token_exports/step_{N}/rank_{R}.jsonl` has
both log-probabilities but no id of a trace, so it is a run of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rollscope.sources.dumps import columns
from rollscope.sources.dumps.episode import samples
from rollscope.sources.dumps.place import Place, Spot
from rollscope.sources.dumps.stream import Row, Tables, growing

from . import NO_STEP, Item, Since
from .jsonl import first, numbers

NAMES = ("prime_rl", "verifiers")
STEP = re.compile(r"step_(\d{1,18})")
UNNAMED = "its rows do not say which samples they are of; import it without --into"
TOKENS = {"rollout_logp": "inference_logprobs", "logp": "trainer_logprobs", "token_advantages": "advantages"}


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".jsonl":
        return False
    if path.name == "metrics.jsonl":
        return (path.parent / "rollouts").is_dir()
    row = first(path)
    if path.name == "traces.jsonl":
        return row is not None and "traces" in row and "task" in row
    return row is not None and {"token_ids", "loss_mask", "inference_logprobs", "trainer_logprobs"} <= row.keys()


def rows(path: Path, since: Since) -> Iterator[Item]:
    if path.name == "metrics.jsonl":
        place = Place(framework="prime_rl", folder=path.parent, name="metrics", kind="numbers")
        yield from numbers(path, since, place.run(path))
    elif path.name == "traces.jsonl":
        yield from growing(path, since, _traces(path), samples)
    else:
        yield from growing(path, since, _exported(path), _tokens)


def _traces(path: Path) -> Place:
    """The place of a file of traces: that of prime-rl has the step in its path."""
    step, kind, subset = path.parent.parent.parent.name, path.parent.parent.name, path.parent.name
    match = STEP.fullmatch(step)
    if match is None:
        return Place(framework="verifiers", folder=path.parent, name="eval", split="eval", alone=NO_STEP)
    above = path.parents[3]
    return Place(
        framework="prime_rl",
        folder=above.parent if above.name == "rollouts" else above,
        name=f"{kind}/{match[1]}/{subset}",
        step=int(match[1]),
        split="eval" if kind == "eval" else "train",
        kind=subset,
    )


def _exported(path: Path) -> Place:
    match = STEP.fullmatch(path.parent.name)
    folder = path.parents[1] if match else path.parent
    step = int(match[1]) if match else 0
    return Place(
        framework="prime_rl", folder=folder, name=f"{step}/{path.stem}", step=step, kind="tokens", alone=UNNAMED
    )


def _tokens(row: Row, spot: Spot) -> Tables:
    ids, mask = list(row["token_ids"]), row["loss_mask"]
    streams = {ours: row.get(theirs) for ours, theirs in {**TOKENS, "entropy": "entropy"}.items()}
    found = columns.tokens(ids, mask, len(ids), **streams)
    known = [value for value in found.get("token_advantages") or [] if value is not None]
    sample = {
        "id": spot.id,
        "step": spot.place.step,
        "time_ns": spot.time_ns,
        "split": spot.place.split,
        "env": row.get("env_name"),
        "trained": True,
        "advantage": sum(known) / len(known) if known else None,
        **found,
    }
    return {"samples": [columns.known(sample)]}
