"""KV-cached batched sampling with the log-probability of every sampled token.

Rows of any length are sampled together. A row ends at the end token (`stop`), at its allowance
(`length`), or when the caller cancels (`cancelled`). The log-probabilities are those of the
distribution that was sampled, at its temperature.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rollscope.trainer import interrupts
from rollscope.trainer.policy.model import Cache, Transformer
from rollscope.trainer.policy.tokenizer import EOS, PAD


@dataclass(slots=True)
class Generation:
    ids: list[int] = field(default_factory=list)
    logp: list[float] = field(default_factory=list)
    stop_reason: str = "length"
    end_ns: int = 0  # when its last token was sampled


def pad(rows: Sequence[Sequence[int]], value: int = PAD) -> Tensor:
    out = torch.full((len(rows), max(map(len, rows), default=0)), value)
    for i, row in enumerate(rows):
        out[i, : len(row)] = torch.tensor(row, dtype=out.dtype)
    return out


@torch.no_grad()
def generate(
    model: Transformer,
    contexts: Sequence[Sequence[int]],
    allowance: Sequence[int],
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[Generation]:
    """One continuation per context, of at most `allowance` tokens each.

    With temperature 0 the most likely token is taken.
    """
    out = [Generation() for _ in contexts]
    context = model.config.context
    room = [min(most, context - len(row)) for row, most in zip(contexts, allowance, strict=True)]
    live = [i for i, left in enumerate(room) if left > 0]
    if not live:
        return [Generation(end_ns=time.time_ns()) for _ in contexts]
    ids = pad(contexts).to(model.device)
    lengths = torch.tensor([len(row) for row in contexts], device=model.device)
    cache = Cache(model, len(contexts))
    positions = torch.arange(ids.shape[1], device=model.device)[None].expand(len(contexts), -1)
    logits = model.step(ids, positions, cache)[torch.arange(len(contexts)), lengths - 1]
    for turn in range(max(room)):
        interrupts.check()
        if cancelled():
            for i in live:
                out[i].stop_reason = "cancelled"
            break
        token, logp = _draw(logits, temperature, generator)
        live = _collect(out, live, room, token.tolist(), logp.tolist())
        if not live:
            break
        position = (lengths + turn).clamp(max=context - 1)
        logits = model.step(token[:, None], position[:, None], cache)[:, 0]
    now = time.time_ns()
    for row in out:
        row.end_ns = row.end_ns or now
    return out


def _draw(logits: Tensor, temperature: float, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    if temperature == 0:
        logp = torch.log_softmax(logits.float(), dim=-1)
        best, token = logp.max(dim=-1)
        return token, best
    logp = torch.log_softmax(logits.float() / temperature, dim=-1)
    token = torch.multinomial(logp.exp(), 1, generator=generator)
    return token[:, 0], logp.gather(-1, token)[:, 0]


def _collect(out: list[Generation], live: list[int], room: list[int], token: list[int], logp: list[float]) -> list[int]:
    """Append this step's token to every live row; return the rows that continue."""
    still_live, now = [], time.time_ns()
    for i in live:
        row = out[i]
        row.ids.append(token[i])
        row.logp.append(logp[i])
        if token[i] == EOS:
            row.stop_reason, row.end_ns = "stop", now
        elif len(row.ids) < room[i]:
            still_live.append(i)
        else:
            row.end_ns = now
    return still_live
