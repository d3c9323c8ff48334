"""Token ids and log-probabilities of the calls of a sample, joined to one sequence.

Agent-Lightning writes them beside each call: all ids of the prompt, the ids of the answer, and
OpenAI's log-probabilities. A later prompt repeats what was said so far; what follows is context.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from rollscope.sources.dumps import columns
from rollscope.sources.intake.gather import number, whole

from .attributes import parsed

MOST = 1_000  # samples of which the sequence is kept for the next call
MOST_TOKENS = 1 << 20  # of all of them together, a hundred bytes each; one sample may have more


@dataclass(slots=True)
class Sequence:
    """The tokens of a sample so far; `last` is what the last call asked and answered."""

    last: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    logp: list[float] = field(default_factory=list)  # 0 at context, NaN where a call did not say

    def add(self, asked: list[int], said: list[int], logp: list[float] | None) -> None:
        """Add a call. Of a prompt that does not repeat the last call, only the answer is added."""
        context = asked[len(self.last) :] if asked[: len(self.last)] == self.last else []
        self.ids += context + said
        self.mask += [False] * len(context) + [True] * len(said)
        self.logp += [0.0] * len(context) + (logp or [math.nan] * len(said))
        self.last = asked + said

    def columns(self) -> dict[str, Any]:
        sampled = [logp for logp, mine in zip(self.logp, self.mask, strict=True) if mine]
        streams = {"rollout_logp": None if all(map(math.isnan, sampled)) else self.logp}
        return columns.known(columns.tokens(self.ids, self.mask, len(self.ids), **streams))


class Sequences:
    """The sequences of the samples that were called last."""

    def __init__(self) -> None:
        self._of: dict[str, Sequence] = {}  # the one called last is at the end
        self._tokens = 0  # of all of them

    def columns(self, sample: str, found: dict[str, Any]) -> dict[str, Any]:
        """The columns of a sample after a call; none if the call has no token ids."""
        asked, said = _ids(found.get("prompt_token_ids")), _ids(found.get("response_token_ids"))
        if not asked or not said:
            return {}
        sequence = self._of[sample] = self._of.pop(sample) if sample in self._of else Sequence()
        before = len(sequence.ids)
        sequence.add(asked, said, _logp(found.get("logprobs.content"), len(said)))
        self._tokens += len(sequence.ids) - before
        self._forget()
        return sequence.columns()

    def _forget(self) -> None:
        """Drop those that were not called for longest, while there are too many or too long."""
        while len(self._of) > 1 and (len(self._of) > MOST or self._tokens > MOST_TOKENS):
            self._tokens -= len(self._of.pop(next(iter(self._of))).ids)


def _ids(value: Any) -> list[int] | None:
    listed = parsed(value)
    ids = [whole(one) for one in listed] if isinstance(listed, list) else []
    return [id for id in ids if id is not None] if ids and None not in ids else None


def _logp(value: Any, length: int) -> list[float] | None:
    """The log-probability of each token; None if they are not one for each."""
    listed = parsed(value)
    found = [number(one.get("logprob")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    known = [one for one in found if one is not None]
    return known if len(known) == length == len(found) else None
