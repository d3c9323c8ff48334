"""Defaults for missing batch keys: derived quantities with the name of the key."""

from __future__ import annotations

from typing import Any

from rollscope.catalog.partials.ops import Rows
from rollscope.catalog.spec import derived


@derived
def reward_S(score_S: Any) -> Any:
    return score_S


@derived
def completion_tokens_S(rows_A: Rows) -> Any:
    return rows_A.counts


@derived
def response_tokens_S(rows_V: Rows) -> Any:
    return rows_V.counts


@derived
def tokens_M_S(rows_M: Rows) -> Any:
    """Tokens of each sample that are in the loss."""
    return rows_M.counts
