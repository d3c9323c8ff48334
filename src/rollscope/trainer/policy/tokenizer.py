"""One token for each printable ASCII character and the newline: easy to learn from scratch."""

from __future__ import annotations

from collections.abc import Iterable

from rollscope.errors import BadInput

PAD, BOS, EOS = 0, 1, 2
_CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))
_ID = {character: i for i, character in enumerate(_CHARACTERS, start=3)}
SIZE = 3 + len(_CHARACTERS)


def encode(text: str) -> list[int]:
    try:
        return [_ID[character] for character in text]
    except KeyError as error:
        raise BadInput(
            f"the character {error.args[0]!r} in {text[:60]!r} has no token:"
            " environments of the trainer use printable ASCII and newlines"
        ) from None


def decode(ids: Iterable[int]) -> str:
    """The text of the tokens; special tokens (padding, start, end) have none."""
    return "".join(_CHARACTERS[i - 3] for i in ids if i >= 3)


def token_texts(ids: Iterable[int]) -> list[str]:
    """The text of each token, for a token view; special tokens are spelled out."""
    return [_CHARACTERS[i - 3] if i >= 3 else ("<pad>", "<bos>", "<eos>")[i] for i in ids]
