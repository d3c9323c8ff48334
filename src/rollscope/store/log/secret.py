"""Hides secrets before a row is written: by the name of a value, and by the shape of a text.

Names and shapes are looked for in nested values, in texts with JSON or settings inside, in URLs,
headers, command lines and tracebacks. The text of samples is not touched: it is what people record,
and `rs.init(redact=...)` is for it. Every pattern takes linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .secret_shapes import SHAPES

HIDDEN = "[hidden]"
DEPTH = 64  # of nested values: what lies deeper is hidden
SHORT = 200  # characters of a text that is worth remembering
LONGEST = 1 << 20  # characters of a text that are searched; the rest is hidden
_EDGE, _END = r"(?:^|_)", r"(?:$|_)"
# Names that say secret, whatever the value is.
_NAMED = re.compile(
    _EDGE + r"(?:api_?keys?|access_?keys?|secrets?|secret_?keys?|client_?secret|(?:pg)?passw(?:or)?ds?|passphrase|pwd"
    r"|seed_?phrase|mnemonic|bearer|bind_?pw"
    r"|(?:db|smtp|imap|ftp|user|root|admin|sudo|redis|mysql|pg|postgres|mongo|proxy|rabbitmq|ldap)_?pass"
    r"|private_?keys?|signing_?keys?|encryption_?keys?|account_?keys?|license_?keys?|ssh_?keys?|master_?keys?"
    r"|credentials?|auth|authorization|proxy_authorization|cookies?|set_cookie|dsn|netrc|jwt|webhook(?:_?url)?"
    r"|conn(?:ection)?_?str(?:ing)?|sas|(?:auth|access|api|hf|bearer|refresh|id|session|secret|personal_access"
    r"|github|gitlab|gh|slack|discord|telegram|bot|wandb|huggingface|hub|ngc|ray|vault|npm|pypi|deploy|csrf|oauth)"
    r"_?tokens?)" + _END
)
_BUT = re.compile(
    r"secrets?_(?:sauce|count|name|id|manager|store)|auth_?(?:ors?$|type|mode|method|enabled)|num_|_count$"
)
# Names that may say secret: the value must look like one.
_MAYBE = re.compile(_EDGE + r"(?:token|key|sig|signature|sid|pat|code)" + _END + "|^pass$")
_ANYTHING = re.compile(r"(?s:.+)")
_KEY_LIKE = re.compile(r"(?=.*[0-9])[A-Za-z0-9+=_.~-]{16,}")
_TOKEN_LIKE = re.compile(r"[^\s<>|/\[\]{}]{16,}")
_PASS_LIKE = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])\S{6,}")
# A name with its sign: `password: "`, `--api-key=`, `\"key\": \"`; an option of a command line,
# `--api-key `, or of a printed one, `'--api-key', '`; a pair, `('key', '`; an element, `<key>`;
# a pair of lines, `name: key` and `value: `; a variable with its type, `key: str = "`; of `.netrc`.
_QUOTE = r"""(?:\\{0,8}["'])?"""
_NAME = r"([A-Za-z][\w.-]{0,63})"
_IS = r"\s{0,8}[:=]\s{0,8}"
_SIGN = re.compile(
    rf"""(?<![\w.-])(?:name|key){_QUOTE}{_IS}{_QUOTE}{_NAME}{_QUOTE},?\s{{1,80}}{_QUOTE}value{_QUOTE}{_IS}{_QUOTE}"""
    rf"""|(?<![\w.-]){_NAME}\s?:\s?(?:str|bytes|Secret\w{{0,8}})(?:\s?\|\s?None)?\s?=\s?{_QUOTE}"""
    rf"""|(?<!\S)login\s{{1,4}}\S{{1,64}}\s{{1,4}}{_NAME}\s{{1,4}}"""
    rf"""|(?<![\w.-])-{{0,2}}_{{0,2}}{_NAME}{_QUOTE}\s{{0,8}}(?:=>|[:=])\s{{0,8}}{_QUOTE}"""
    rf"""|(?<!\S)--?{_NAME}\s{{1,4}}["']?(?!-)"""
    rf"""|(?:\(["']|["']--?){_NAME}["'],\s{{0,4}}["']"""
    rf"""|<{_NAME}>"""
)
_SCHEME = re.compile(r"""(?:[Bb]earer|[Bb]asic|[Tt]oken|[Dd]igest)\s{1,4}[^\s"']+""")
_VALUE = re.compile(r"""[^\s"'&,;{}\[\]()<>]*""")
LOOK = 256  # characters of a value that tell whether it looks like a secret


def is_secret(name: str, value: Any) -> bool:
    """Does the name say that this value is a secret?

    A name with only `token` or `key` needs a value that looks like one: `pad_token` is not.
    """
    if not isinstance(value, (str, bytes)) or not value:
        return False
    looks = _looks_of(name)
    text = value[:LOOK].decode("latin-1") if isinstance(value, bytes) else value[:LOOK]
    return looks is not None and looks.fullmatch(text) is not None


@lru_cache(1024)
def _looks_of(name: str) -> re.Pattern[str] | None:
    """What a value of this name looks like if it is a secret; None if it is none."""
    word = words_of(name)
    if _NAMED.search(word) and not _BUT.search(word):
        return _ANYTHING
    if _MAYBE.search(word) is None:
        return None
    if word == "pass":
        return _PASS_LIKE
    return _TOKEN_LIKE if re.search(r"(?:^|_)token(?:$|_)", word) else _KEY_LIKE


def words_of(name: str) -> str:
    """A name in lower snake case: `apiKey`, `X-Api-Key` and `db.apiKey` have the words
    `api_key`.
    """
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:256])
    return re.sub(r"[^a-z0-9]+", "_", split.lower()).strip("_")


def hide(value: Any, name: str = "", depth: int = 0) -> Any:
    """A value named `name`, or anything inside it, without its secrets."""
    if is_secret(name, value) or depth > DEPTH:
        return HIDDEN
    if isinstance(value, str):
        return hide_text(value)
    if isinstance(value, Mapping):
        return _hide_mapping(value, name, depth)
    if isinstance(value, (list, tuple, set, frozenset)):
        return hide_arguments(value, name, depth)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _hide_mapping(value: Mapping[Any, Any], name: str, depth: int) -> dict[Any, Any]:
    """A mapping without its secrets; `{"name": "HF_TOKEN", "value": x}` says the name of x."""
    pair = next((value[key] for key in ("name", "key") if isinstance(value.get(key), str) and "value" in value), "")
    names = {key: pair if pair and key == "value" else key for key in value}
    return {key: hide(inner, _inner_name(name, names[key], inner), depth + 1) for key, inner in value.items()}


def _inner_name(outer: str, key: Any, inner: Any) -> str:
    """Everything below `credentials` is a secret, whatever it is called there."""
    return outer if _looks_of(outer) is _ANYTHING and not isinstance(inner, bool) else str(key)


def hide_text(text: str) -> str:
    """A text without the secrets in it."""
    return _hidden_again(text) if len(text) <= SHORT else _hidden(text)


def _hidden(text: str) -> str:
    if len(text) > LONGEST:
        return hide_text(text[:LONGEST]) + HIDDEN
    if text[:1] in "{[" and (inside := _json(text)) is not None:
        hidden = hide(inside)
        return text if hidden == inside else json.dumps(hidden, ensure_ascii=False)
    for shape in SHAPES:
        text = shape.sub(HIDDEN, text)
    return _hide_assigned(text)


_hidden_again = lru_cache(maxsize=256)(_hidden)  # spans of every step say the same words


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _hide_assigned(text: str) -> str:
    """`password=x` and `password: x` without the x, anywhere in a text.

    Signs inside one value, `a=b=c`, share its end, so that each character is read once.
    """
    parts, at, end = [], 0, 0
    for sign in _SIGN.finditer(text):
        start = sign.end()
        if start >= end:
            end = _end_of_value(text, start)
        if at <= start < end and is_secret(sign[sign.lastindex or 0], text[start : min(end, start + LOOK)]):
            parts += [text[at:start], HIDDEN]
            at = end
    return "".join([*parts, text[at:]])


def _end_of_value(text: str, start: int) -> int:
    value = _SCHEME.match(text, start) or _VALUE.match(text, start)
    return value.end() if value is not None else start


def hide_arguments(arguments: Sequence[Any] | set[Any] | frozenset[Any], name: str = "", depth: int = 0) -> list[Any]:
    """A list without its secrets; of a command line `--api-key x`, `--api-key=x`, `KEY=x`."""
    out: list[Any] = []
    before = ""
    for argument in arguments:
        named = before if isinstance(before, str) and before.startswith("-") and "=" not in before else name
        if isinstance(argument, (list, tuple)) and len(argument) == 2 and isinstance(argument[0], str):
            out.append([argument[0], hide(argument[1], argument[0], depth + 2)])  # a header, say
            continue
        hidden = hide(argument, named.lstrip("-"), depth + 1)
        out.append(_assigned_argument(hidden) if isinstance(hidden, str) else hidden)
        before = argument
    return out


def _assigned_argument(argument: str) -> str:
    """`--password=two words` is one argument, so the value is all that follows the sign."""
    name, equals, value = argument.partition("=")
    secret = bool(equals) and len(name) < 64 and is_secret(name.lstrip("-"), value)
    return f"{name}={HIDDEN}" if secret else argument


HIDDEN_IN = {"runs": None, "notes": ("text", "data"), "spans": ("data", "causes"), "findings": None}


def hide_row(table: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row of a table without secrets, in the columns where people or their programs write
    words.
    """
    if table not in HIDDEN_IN:
        return row
    columns = HIDDEN_IN[table] or row.keys()
    touched = {
        name: hide(row[name], name) for name in columns if isinstance(row.get(name), (str, bytes, Mapping, list))
    }
    return {**row, **touched} if touched else row
