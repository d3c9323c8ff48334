"""A small decoder-only transformer: rotary positions, pre-norm, no biases, untied embeddings.

With one output it serves as critic or reward model. `forward` is for training (whole rows), `step`
for sampling (a few new tokens per row against a cache). Rows are padded on the right and keep their
own positions, so a row's numbers do not depend on the other rows.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rollscope.trainer.config import ModelConfig

from . import tokenizer


class Cache:
    """Keys and values of the tokens read so far, per layer, at each row's own positions."""

    def __init__(self, model: Transformer, rows: int) -> None:
        config = model.config
        shape = (config.layers, 2, rows, config.heads, config.context, config.width // config.heads)
        self.kv = torch.zeros(shape, device=model.device)
        self.rows = torch.arange(rows, device=model.device)[:, None]

    def write(self, layer: int, k: Tensor, v: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = self.kv[layer]
        keys[self.rows, :, positions] = k.transpose(1, 2)
        values[self.rows, :, positions] = v.transpose(1, 2)
        return keys, values


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Block(nn.Module):
    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        width = config.width
        self.layer, self.heads = layer, config.heads
        self.attend_norm, self.think_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, cache: Cache | None, positions: Tensor, mask: Tensor | None
    ) -> Tensor:
        rows, length, width = x.shape
        qkv = self.qkv(self.attend_norm(x)).chunk(3, dim=-1)
        q, k, v = (y.view(rows, length, self.heads, -1).transpose(1, 2) for y in qkv)
        q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
        if cache is not None:
            k, v = cache.write(self.layer, k, v, positions)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        x = x + self.out(attended.transpose(1, 2).reshape(rows, length, width))
        y: Tensor = x + self.down(F.gelu(self.up(self.think_norm(x))))
        return y


class Transformer(nn.Module):
    def __init__(self, config: ModelConfig, outputs: int = tokenizer.SIZE) -> None:
        """`outputs` is the vocabulary for a policy, 1 for a critic or a judge."""
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(tokenizer.SIZE, config.width)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.norm = nn.RMSNorm(config.width)
        self.head = nn.Linear(config.width, outputs, bias=False)
        half = config.width // config.heads // 2
        angles = torch.outer(torch.arange(config.context).float(), 1.0 / 10_000 ** (torch.arange(half) / half))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for weight in self.parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, std=0.02 if weight.shape[0] == tokenizer.SIZE else weight.shape[1] ** -0.5)
        for block in self.blocks:
            assert isinstance(block, Block)
            nn.init.zeros_(block.out.weight)
            nn.init.zeros_(block.down.weight)
        if outputs == 1:
            nn.init.zeros_(self.head.weight)  # a critic starts with values of 0

    @property
    def device(self) -> torch.device:
        return self.embed.weight.device

    def _run(self, ids: Tensor, cache: Cache | None, positions: Tensor, mask: Tensor | None) -> Tensor:
        cos, sin = self.get_buffer("cos")[positions][:, None], self.get_buffer("sin")[positions][:, None]
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, cos, sin, cache, positions, mask)
        y: Tensor = self.head(self.norm(x))
        return y

    def forward(self, ids: Tensor) -> Tensor:
        """`[B, T]` ids -> `[B, T, outputs]`. Causal, so no token sees the padding on its right."""
        positions = torch.arange(ids.shape[1], device=ids.device)[None].expand(ids.shape[0], -1)
        return self._run(ids, None, positions, None)

    def step(self, ids: Tensor, positions: Tensor, cache: Cache) -> Tensor:
        """Outputs for new tokens at their rows' positions, given everything cached before them."""
        keys = torch.arange(self.config.context, device=ids.device)
        return self._run(ids, cache, positions, (keys <= positions[..., None])[:, None])


def token_logps(logits: Tensor, ids: Tensor, temperature: float = 1.0) -> tuple[Tensor, Tensor]:
    """(log-probability of each id, entropy of each distribution) at a temperature, natural log."""
    logp = torch.log_softmax(logits.float() / temperature, dim=-1)
    return logp.gather(-1, ids[..., None]).squeeze(-1), -(logp.exp() * logp).sum(-1)


def parameters(model: nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters())
