"""Texts of token ids, as the tokenizer of a model decodes them.

Most tokenizers in use write bytes: a token stands for some bytes, and a text is the bytes of its
tokens put together. For these the bytes of a token are looked up once, which takes a third of the
time of asking the tokenizer.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np


class Pieces(dict[int, bytes]):
    """The bytes of each token that was seen; those of a special token are empty."""

    def __init__(self, tokenizer: Any, letters: dict[str, int]) -> None:
        self._tokenizer, self._letters = tokenizer, letters
        added = tokenizer.get_added_tokens_decoder()
        self._special = {id for id, token in added.items() if token.special}

    def __missing__(self, id: int) -> bytes:
        word = None if id in self._special else self._tokenizer.id_to_token(id)
        try:
            found = bytes(self._letters[letter] for letter in word or "")
        except KeyError:  # an added token that is not written in these letters
            found = (word or "").encode()
        self[id] = found
        return found


class Decoder:
    """Decodes without special tokens, as `tokenizer.decode(ids, skip_special_tokens=True)` does."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._pieces = _pieces(tokenizer)
        self.end: int | None = getattr(tokenizer, "eos_token_id", None)  # the token that ends a text

    @classmethod
    def of_own(cls, tokenizer: Any) -> Decoder:
        """One for our thread: the trainer cannot set up a tokenizer that decodes meanwhile."""
        try:
            return cls(copy.deepcopy(tokenizer))
        except Exception:  # one written in Python may hold what cannot be copied, and needs no copy
            return cls(tokenizer)

    def texts(self, rows: Sequence[list[int]]) -> list[str]:
        """The text of each row."""
        ids = [id for row in rows for id in row]
        return Spelled(self, ids).texts(np.cumsum([0, *map(len, rows)]).tolist())

    def spell(self, ids: list[int]) -> list[bytes] | None:
        """The bytes of each token; None if the tokenizer must be asked for the text of a row."""
        return None if self._pieces is None else [*map(self._pieces.__getitem__, ids)]

    def slowly(self, rows: Sequence[list[int]]) -> list[str]:
        """The text of each row, as the tokenizer gives it."""
        fast = _backend(self._tokenizer)
        if fast is not None:  # most of the time of `batch_decode` is not spent in decoding
            return [fast.decode(row, skip_special_tokens=True) for row in rows]
        texts: list[str] = self._tokenizer.batch_decode(rows, skip_special_tokens=True)
        return texts


class Spelled:
    """Token ids, and the text of any stretch of them: each token is looked up once."""

    def __init__(self, decoder: Decoder, ids: list[int]) -> None:
        self._decoder, self._ids, self._pieces = decoder, ids, decoder.spell(ids)

    def texts(self, edges: list[int]) -> list[str]:
        """The texts between the edges."""
        pieces, pairs = self._pieces, pairwise(edges)
        if pieces is None:
            return self._decoder.slowly([self._ids[start:end] for start, end in pairs])
        return [b"".join(pieces[start:end]).decode("utf-8", "replace") for start, end in pairs]


def _backend(tokenizer: Any) -> Any:
    """The tokenizer in Rust, if its texts are not changed afterwards."""
    fast = getattr(tokenizer, "backend_tokenizer", None)
    return fast if getattr(tokenizer, "clean_up_tokenization_spaces", None) is False else None


def _pieces(tokenizer: Any) -> Pieces | None:
    """The bytes of tokens, if the tokenizer puts them together and does nothing else."""
    fast = _backend(tokenizer)
    if fast is None or type(fast.decoder).__name__ != "ByteLevel":
        return None
    return Pieces(fast, letters())


def letters() -> dict[str, int]:
    """The letter for each byte in the vocabulary of byte-level tokenizers, since GPT-2."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + i): byte for i, byte in enumerate(hidden)}
