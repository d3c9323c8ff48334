"""What makes a configuration: every setting of a run but its seed, and where its files lie."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rollscope.strict_json import plain

SEED = re.compile(r"(^|[._])(seed|random_seed|data_seed|rng_seed|seed_everything)$")
PLACE = re.compile(r"(^|[._])(output_dir|logging_dir|save_dir|log_dir|run_name|experiment_name|name|id|port)$")


def flat(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no mapping, under its dotted key."""
    for key, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def factors(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that make a run what it is: all but the seed, and where its files lie."""
    return {key: value for key, value in flat(config) if not SEED.search(key) and not PLACE.search(key)}


def configuration(record: Mapping[str, Any]) -> str:
    """A short word that is equal for runs that differ in nothing but their seed.

    Empty if the run has no settings: then nothing says that another run is like it.
    """
    config = record.get("config")
    chosen = factors(config) if isinstance(config, Mapping) else {}
    if not chosen:
        return ""
    about = {key: record.get(key) for key in ("project", "algorithm", "framework")}
    text = json.dumps([plain(about), plain(chosen)], sort_keys=True)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
