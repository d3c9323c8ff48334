"""Token ids and log-probabilities of the calls of a sample, joined to one sequence.

Agent-Lightning writes them beside each call: all ids of the prompt, the ids of the answer, and
OpenAI's log-probabilities. A later prompt repeats what was said so far; what follows is context.
Of a sample whose earlier calls are not known any more, nothing is said: what is stored stays.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from operator import eq
from typing import Any

from rollscope.sources.dumps import columns
from rollscope.sources.intake.gather import number

from .attributes import parsed
from .seen import SpanIds

MOST_OF_ONE = 1 << 18  # tokens of a sample; of a longer one, those of its first calls are kept
MOST = 1 << 22  # tokens of all samples that wait for their next call, eight to 25 bytes each
LETTERS = 16  # of a token in JSON, at most: longer texts are not read
HIGHEST = 1 << 31  # no vocabulary has more


@dataclass(slots=True)
class Sequence:
    """The tokens of a sample so far; `last` is what the last call asked and answered."""

    attempt: Any = None
    is_again: bool = False  # another attempt was stored: every column replaces its own
    last: array[int] = field(default_factory=lambda: array("q"))
    ids: array[int] = field(default_factory=lambda: array("q"))
    mask: bytearray = field(default_factory=bytearray)
    logp: array[float] = field(default_factory=lambda: array("d"))  # 0 at context, NaN where a call did not say

    def __len__(self) -> int:
        return len(self.ids) + len(self.last)

    def add(self, asked: array[int], said: array[int], logp: list[float] | None) -> None:
        """Add a call: as context what its prompt has beyond the part that it repeats."""
        context = asked[_same(asked, self.last) :]
        self.ids += context + said
        self.mask += bytes(len(context)) + b"\1" * len(said)
        self.logp.extend([0.0] * len(context) + (logp or [math.nan] * len(said)))
        self.last = asked + said

    def columns(self) -> dict[str, Any]:
        is_said = any(mine and logp == logp for logp, mine in zip(self.logp, self.mask, strict=True))
        streams = {"rollout_logp": self.logp.tolist() if is_said or self.is_again else None}
        found = columns.known(columns.tokens(self.ids, self.mask, len(self.ids), **streams))
        return {"action_mask": [*self.mask[found["prompt_tokens"] :]], **found} if self.is_again else found


class Sequences:
    """The sequences of samples that may be called again.

    `ids` are of samples that have tokens already.
    """

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._of: dict[str, Sequence] = {}  # the one called last is at the end
        self._left = SpanIds(map(_number, ids))  # samples with tokens, and without a sequence here
        self._tokens = 0  # of all of them

    def columns(self, sample: str, attempt: Any, found: dict[str, Any]) -> dict[str, Any]:
        """The columns of a sample after a call; none if its tokens are not all known."""
        asked, said = _ids(found.get("prompt_token_ids")), _ids(found.get("response_token_ids"))
        if not asked or not said or (sample not in self._of and _number(sample) in self._left):
            return {}
        sequence = self._taken(sample, attempt)
        sequence.add(asked, said, _logp(found.get("logprobs.content"), len(said)))
        if len(sequence) > 2 * MOST_OF_ONE:
            self._left.add(_number(sample))
            return {}
        self._of[sample] = sequence
        self._tokens += len(sequence)
        self._forget()
        return sequence.columns()

    def _taken(self, sample: str, attempt: Any) -> Sequence:
        """The sequence of a sample; a new one for another attempt at it."""
        before = self._of.pop(sample, None)
        if before is None:
            return Sequence(attempt)
        self._tokens -= len(before)
        return before if before.attempt == attempt else Sequence(attempt, is_again=True)

    def _forget(self) -> None:
        """Drop those that were not called for longest while all have too many tokens."""
        while len(self._of) > 1 and self._tokens > MOST:
            sample = next(iter(self._of))
            self._tokens -= len(self._of.pop(sample))
            self._left.add(_number(sample))


def _same(one: array[int], other: array[int]) -> int:
    """How many values both begin with."""
    if one[: len(other)] == other:
        return len(other)
    return sum(takewhile(bool, map(eq, one, other)))


def _number(sample: str) -> int:
    digest = hashlib.blake2b(sample.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _ids(value: Any) -> array[int] | None:
    """Token ids; None if it is anything else."""
    if isinstance(value, str) and len(value) > LETTERS * MOST_OF_ONE:
        return None
    listed = parsed(value)
    is_good = isinstance(listed, list) and all(type(one) is int and 0 <= one < HIGHEST for one in listed)
    return array("q", listed) if is_good and len(listed) <= MOST_OF_ONE else None


def _logp(value: Any, length: int) -> list[float] | None:
    """The log-probability of each token; None if they are not one for each."""
    listed = parsed(value)
    found = [number(one.get("logprob")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    known = [one for one in found if one is not None]
    return known if len(known) == length == len(found) else None
