"""The episodes of an environment of verifiers, recorded when they end.

A task that is tried again after an error gives an episode for each attempt.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

from rollscope.sources.dumps.episode import samples
from rollscope.sources.dumps.place import Place, Repeats, Spot
from rollscope.sources.dumps.stream import Tables
from rollscope.sources.live.quiet import quiet

GIVEN = ("time_ns", "step")  # by the recorder
OF_TURN = ("sample", "turn", "step")  # the same


class Recorder:
    """Records one environment. Samples are at `step`, or at that which their episode names."""

    def __init__(self, env: Any, run: Any, split: str, options: Mapping[str, Any]) -> None:
        self.run = run
        self._env, self._split, self._options = env, split, options
        self._numbers, self._repeats = count(), Repeats()
        self.step: int | None = None

    @quiet
    def watch(self) -> None:
        """Begin the run, and listen to the environment."""
        if self.run is None:
            from rollscope.record.start import init

            config = self._env.config
            facts = {"name": config.env_id, "project": "verifiers", "config": config.model_dump(mode="json")}
            more = {"framework": f"verifiers@{version('verifiers')}", "shard": 0, "shards": 1}
            self.run = init(**{**facts, **more, **self._options})
        self._listen()

    def _listen(self) -> None:
        theirs = self._env.run_episode

        @functools.wraps(theirs)
        async def run_episode(*args: Any, **kwargs: Any) -> Any:
            episode = await theirs(*args, **kwargs)
            self._record(episode)
            return episode

        run_episode.recorder = self  # type: ignore[attr-defined]
        self._env.run_episode = run_episode

    @quiet
    def _record(self, episode: Any) -> None:
        place = Place(
            framework="verifiers",
            folder=Path(),
            name="live",
            step=self.step or 0,
            split=self._split,
            repeats=self._repeats,
        )
        record = episode.to_record(float_decimals=None)
        tables = samples(record, Spot(place, next(self._numbers), time.time_ns()))
        work = (record.get("run") or {}).get("work") or {}
        step = self.step if self.step is not None else work.get("step")
        self.run.log_samples([*_with_turns(tables)], step=step)


def known(env: Any, run: Any) -> Recorder | None:
    """What records an environment already, into this run if one is given."""
    recorder: Recorder | None = getattr(env.run_episode, "recorder", None)
    return recorder if recorder is not None and run in (None, recorder.run) else None


def _with_turns(tables: Tables) -> Iterator[dict[str, Any]]:
    """The samples, each with its turns."""
    for one in tables["samples"]:
        own = [turn for turn in tables.get("turns", ()) if turn["sample"] == one["id"]]
        turns = [{name: value for name, value in turn.items() if name not in OF_TURN} for turn in own]
        found = {name: value for name, value in one.items() if name not in GIVEN}
        yield {**found, "turns": turns} if turns else found
