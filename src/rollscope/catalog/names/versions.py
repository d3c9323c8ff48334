"""Which versions of a framework a name holds for: "" all that were read, "0.8", ">=0.9", "<1.13", or several with commas."""

from __future__ import annotations

import re
from functools import lru_cache


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


@lru_cache(maxsize=1024)
def admits(rule: str, version: str) -> bool:
    """Does `rule` admit `version`? No version asked for admits everything.

    >>> admits(">=0.9", "0.9.1"), admits("0.8", "0.8.2"), admits("<1.13", "1.16"), admits("<1.13", "")
    (True, True, False, True)
    """
    if not rule or not version:
        return True
    asked = _numbers(version)
    return all(_one(part.strip(), asked) for part in rule.split(","))


def _one(part: str, asked: tuple[int, ...]) -> bool:
    found = re.fullmatch(r"(>=|<=|>|<|==)?\s*([\d.]+).*", part)
    assert found, f"a version rule is '0.8' or '>=0.9', not {part!r}"
    sign, bound = found.group(1) or "", _numbers(found.group(2))
    head = asked[: len(bound)]
    return {
        "": head == bound,
        "==": head == bound,
        ">=": head >= bound,
        ">": head > bound,
        "<": head < bound,
        "<=": head <= bound,
    }[sign]
