"""Hides secrets before anything is written: by the name of a value, and by the shape of a text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

HIDDEN = "[hidden]"
_EDGE = r"(?:^|[^a-z0-9])"
_END = r"(?:$|[^a-z0-9])"
_NAMED = re.compile(
    _EDGE + r"(?:api_?keys?|access_?keys?|secret(?:_?(?:access_?)?keys?)?|secrets|passw(?:or)?d|passphrase|pwd"
    r"|private_?keys?|credentials?|auth(?:orization)?|cookie|dsn)" + _END
)
_TOKEN = re.compile(_EDGE + r"(?:auth_?|access_?|api_?|hf_?|bearer_?)?(?:token|key)" + _END)
_SHAPES = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|xox[abprs]-[\w-]{10,}|eyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]{5,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*|(?<=[Bb]earer )\S{8,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)


def is_secret(name: str, value: Any) -> bool:
    """Does the name say that this value is a secret?

    A name with only `token` or `key` needs a value that is long enough to be one: `pad_token` is
    not.
    """
    if not isinstance(value, (str, bytes)) or not value:
        return False
    word = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")
    if _NAMED.search(word):
        return True
    return bool(_TOKEN.search(word)) and len(value) >= 16 and not re.search(r"[\s<>|/]", str(value))


def hide(value: Any, name: str = "") -> Any:
    """A configuration, or a value named `name` inside one, without its secrets."""
    if is_secret(name, value):
        return HIDDEN
    if isinstance(value, str):
        return _SHAPES.sub(HIDDEN, value)
    if isinstance(value, Mapping):
        return {key: hide(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [hide(inner, name) for inner in value]
    if value is None or isinstance(value, (int, float)):
        return value
    mapping = plain(value)
    return hide(mapping, name) if mapping is not None else _SHAPES.sub(HIDDEN, str(value))


def plain(value: Any) -> dict[str, Any] | None:
    """A configuration object as a mapping, or None for any other object.

    Configuration objects are dataclasses, namespaces, and what has `to_dict`, `model_dump` or
    `_asdict`.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    for method in ("to_dict", "model_dump", "_asdict"):
        if hasattr(value, method) and not isinstance(value, type):
            mapping = getattr(value, method)()
            return dict(mapping) if isinstance(mapping, Mapping) else None
    return dict(vars(value)) if type(value).__name__ in ("Namespace", "SimpleNamespace") else None


def hide_arguments(arguments: Sequence[str]) -> list[str]:
    """A command line without its secrets: `--api-key x`, `--api-key=x`, `KEY=x`."""
    out: list[str] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        before = out[-1] if out else ""
        if equals and is_secret(name, value):
            out.append(f"{name}={HIDDEN}")
        elif before.startswith("-") and "=" not in before and is_secret(before, argument):
            out.append(HIDDEN)
        else:
            out.append(hide(argument))
    return out
