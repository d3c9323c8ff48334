"""Version rules of names: "0.8", ">=0.9", "<1.13", several with commas, or "" for all versions."""

from __future__ import annotations

import re
from functools import lru_cache


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


@lru_cache(maxsize=1024)
def admits(rule: str, version: str) -> bool:
    """Whether `rule` admits `version`. An empty rule or version admits everything.

    >>> admits(">=0.9", "0.9.1"), admits("0.8", "0.8.2"), admits("<1.13", "1.16")
    (True, True, False)
    >>> admits("<1.13", "")
    True
    """
    if not rule or not version:
        return True
    numbers = _numbers(version)
    return all(_admits(part.strip(), numbers) for part in rule.split(","))


def _admits(condition: str, version: tuple[int, ...]) -> bool:
    match = re.fullmatch(r"(>=|<=|>|<|==)?\s*([\d.]+).*", condition)
    assert match, f"a version rule is '0.8' or '>=0.9', not {condition!r}"
    sign, bound = match.group(1) or "", _numbers(match.group(2))
    head = version[: len(bound)]
    return {
        "": head == bound,
        "==": head == bound,
        ">=": head >= bound,
        ">": head > bound,
        "<": head < bound,
        "<=": head <= bound,
    }[sign]
