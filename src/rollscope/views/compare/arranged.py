"""Which runs stand together in a comparison: found by configuration, or as a person says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rollscope.views.configuration import factors

from .replicas import Record, groups

ALONE = "alone"
MOST_REPLICAS = 30  # of one configuration: the newest


def arranged(ids: Sequence[str], records: Iterable[Record], by: str = "") -> list[tuple[str, ...]]:
    """Groups of run ids, in the order in which they were asked for; a run that was asked is first.

    By default a run brings its replicas that have ended. Runs of one configuration alone are each
    their own group. `by` is `alone`, or a setting whose values make the groups.
    """
    asked = list(dict.fromkeys(ids))
    if by == ALONE:
        return [(id,) for id in asked]
    known = {str(record["id"]): record for record in records}
    found = _by_setting(asked, known, by) if by else _by_configuration(asked, known)
    return found if len(found) > 1 else [(id,) for id in asked]


def _by_configuration(asked: list[str], known: dict[str, Record]) -> list[tuple[str, ...]]:
    ended = [record for id, record in known.items() if id in asked or record.get("state") != "running"]
    by_id = {id: ids for ids in groups(ended) for id in ids}
    found: dict[tuple[str, ...], list[str]] = {}
    for id in asked:
        found.setdefault(by_id.get(id, (id,)), []).append(id)
    return [_first(mine, ids) for ids, mine in found.items()]


def _first(mine: list[str], ids: tuple[str, ...]) -> tuple[str, ...]:
    others = [id for id in ids if id not in mine]
    return (*mine, *others[: max(0, MOST_REPLICAS - len(mine))])


def _by_setting(asked: list[str], known: dict[str, Record], key: str) -> list[tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for id in asked:
        config = known.get(id, {}).get("config")
        value = factors(config).get(key.removeprefix("config.")) if isinstance(config, dict) else None
        found.setdefault(str(value), []).append(id)
    return [tuple(ids) for ids in found.values()]
