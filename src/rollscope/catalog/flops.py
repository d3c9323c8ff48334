"""The FLOPs of a model from its configuration, and the peak of a GPU.

A training pass costs 6 FLOPs per parameter and token (2 forward, 4 backward) plus attention over
the sequence; a forward pass costs a third. The embedding and the output layer both count as
matrices. Recomputation does not count: this is the necessary work, not the work that was done.
Peaks are dense bfloat16 (float16 if a GPU has no bfloat16), without sparsity, in TFLOP/s, from the
makers' data sheets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

PEAK_TFLOPS = {
    "GB300": 2500.0,
    "GB200": 2500.0,
    "B300": 2250.0,
    "B200": 2250.0,
    "GH200": 989.0,
    "H100 PCIE": 756.0,
    "H100 NVL": 835.0,
    "H100": 989.0,
    "H200": 989.0,
    "H800": 989.0,
    "H20": 148.0,
    "A100": 312.0,
    "A800": 312.0,
    "A40": 149.7,
    "A30": 165.0,
    "A10G": 70.0,
    "A10": 125.0,
    "RTX A6000": 154.8,
    "RTX 6000 ADA": 364.25,
    "L40S": 362.05,
    "L40": 181.05,
    "L20": 119.5,
    "L4": 121.0,
    "RTX 5090": 209.5,
    "RTX 4090": 165.2,
    "RTX 3090": 71.0,
    "RTX 3070 TI": 21.75,
    "V100": 125.0,
    "T4": 65.0,
    "MI355X": 2500.0,
    "MI350X": 2300.0,
    "MI325X": 1307.0,
    "MI300X": 1307.0,
    "MI300A": 980.0,
    "MI250X": 383.0,
    "ASCEND950DT": 432.0,
    "ASCEND910": 354.0,
    "910B": 354.0,
}
# Models with two matrices in the MLP, not three.
UNGATED = {"apertus", "gpt2", "gpt_neox", "opt", "falcon", "phi", "bloom", "starcoder2"}


def peak_tflops(gpu_name: str) -> float | None:
    """The peak of one GPU by the longest name in the table that is part of its own, or None.

    >>> peak_tflops("NVIDIA H200"), peak_tflops("NVIDIA H20"), peak_tflops("Voodoo 2")
    (989.0, 148.0, None)
    """
    words = gpu_name.upper().replace("-", " ").replace("  ", " ")
    names = [name for name in PEAK_TFLOPS if name in words]
    return PEAK_TFLOPS[max(names, key=len)] if names else None


class Config:
    """The language part of a model configuration, which is a mapping or an object."""

    def __init__(self, config: Any) -> None:
        text = _field(config, "text_config")
        self._of = text if text is not None else config

    def __call__(self, *names: str, default: float | None = None) -> float:
        """The first of these fields that is there. Raises KeyError without a default."""
        for name in names:
            if (value := _field(self._of, name)) is not None:
                return float(value)
        if default is None:
            raise KeyError(names[0])
        return default

    def raw(self, name: str) -> Any:
        return _field(self._of, name)


def _field(config: Any, name: str) -> Any:
    return config.get(name) if isinstance(config, Mapping) else getattr(config, name, None)


def training_flops(model: Any, lengths: Sequence[float]) -> float | None:
    """The FLOPs of one forward and backward pass over sequences of these lengths.

    None if the configuration lacks a field.
    """
    of = Config(model)
    tokens = np.asarray(lengths, np.float64)
    try:
        if (parameters := of.raw("parameters")) is not None:
            return 6.0 * float(parameters) * float(tokens.sum())
        return 6.0 * _parameters(of) * float(tokens.sum()) + _attention(of, tokens)
    except KeyError:
        return None


def _parameters(of: Config) -> float:
    """The number of parameters that a token passes through."""
    hidden, layers = of("hidden_size"), of("num_hidden_layers")
    dense = of("first_k_dense_replace", default=0.0)
    attention = _latent_projections(of, hidden) if of.raw("kv_lora_rank") is not None else _projections(of, hidden)
    experts = of("num_experts", "n_routed_experts", "num_local_experts", default=0.0)
    matrices = 2.0 if of.raw("model_type") in UNGATED else 3.0
    plain = hidden * of("intermediate_size") * matrices if not experts or dense else 0.0
    mixed = _experts(of, hidden, experts) if experts else plain
    return attention * layers + mixed * (layers - dense) + plain * dense + 2.0 * of("vocab_size") * hidden


def _head_dim(of: Config) -> float:
    return of("head_dim", default=of("hidden_size") // of("num_attention_heads"))


def _projections(of: Config, hidden: float) -> float:
    heads, head_dim = of("num_attention_heads"), _head_dim(of)
    return hidden * head_dim * 2.0 * (heads + of("num_key_value_heads", default=heads))


def _latent_projections(of: Config, hidden: float) -> float:
    """Multi-head latent attention: queries and keys pass through low ranks."""
    heads, nope, rope, v = of("num_attention_heads"), of("qk_nope_head_dim"), of("qk_rope_head_dim"), of("v_head_dim")
    rank, q_rank = of("kv_lora_rank"), of.raw("q_lora_rank")
    queries = hidden * heads * (nope + rope) if q_rank is None else float(q_rank) * (hidden + heads * (nope + rope))
    return queries + hidden * (rank + rope) + rank * heads * (nope + v) + heads * v * hidden


def _experts(of: Config, hidden: float, experts: float) -> float:
    inner = of("moe_intermediate_size", "intermediate_size")
    shared = of("n_shared_experts", default=0.0) * inner + of("shared_expert_intermediate_size", default=0.0)
    return hidden * experts + hidden * 3.0 * (inner * of("num_experts_per_tok") + shared)


def _attention(of: Config, tokens: np.ndarray) -> float:
    """Scores and weighted values under a causal mask: 6 x pairs x width over all layers.

    It covers forward and backward.
    """
    layers = of("num_hidden_layers")
    kinds = of.raw("layer_types") or []
    sliding = sum(kind == "sliding_attention" for kind in kinds)
    skipped = sum(kind == "linear_attention" for kind in kinds)
    window = of("sliding_window", default=np.inf)
    full = float(np.square(tokens).sum()) * (layers - sliding - skipped)
    near = float((tokens * np.minimum(tokens, window)).sum()) * sliding
    return float(6.0 * (full + near) * _attention_width(of))


def _attention_width(of: Config) -> float:
    heads = of("num_attention_heads")
    if of.raw("kv_lora_rank") is None:
        return heads * _head_dim(of)
    return heads * (of("qk_nope_head_dim") + of("qk_rope_head_dim") + of("v_head_dim")) / 2.0
