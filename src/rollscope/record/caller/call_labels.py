"""The labels of a call to `log`: its environment, split and clock, as text, whatever they are."""

from __future__ import annotations

from typing import Any

from rollscope.record.loss import Lose
from rollscope.store.log.block import Labels

from .label import label

MOST = 10_000  # labels that are remembered
_TEXT = (str, type(None))


class CallLabels:
    """Equal labels are one object, so that the drain compares identities."""

    def __init__(self, attempt: int, shard: int, lose: Lose) -> None:
        self._attempt, self._shard, self._lose = attempt, shard, lose
        self._known: dict[tuple[str | None, str | None, str | None], Labels] = {}

    def __call__(self, env: Any = None, split: Any = "train", clock: Any = None) -> Labels:
        try:
            known = self._known.get((env, split, clock))
        except Exception:  # one of them cannot be hashed or compared
            known = None
        return self._new(env, split, clock) if known is None else known

    def _new(self, env: Any, split: Any, clock: Any) -> Labels:
        if len(self._known) >= MOST:
            self._known = {}
        texts = (self._as_text(env), self._as_text(split) or "train", self._as_text(clock))
        labels = self._known.setdefault(texts, Labels(self._attempt, self._shard, *texts))
        if type(env) in _TEXT and type(split) in _TEXT and type(clock) in _TEXT:
            self._known[env, split, clock] = labels
        return labels

    def _as_text(self, value: Any) -> str | None:
        return None if value is None else label(value, self._lose)
