"""A trainer that sends a run to the intake of a server, as `ThroughServer` does over HTTP."""

from __future__ import annotations

from rollscope.lake import spool
from rollscope.lake.serving.intake import Intake
from rollscope.lake.spool import Object
from tests.lake.life import Life


class Trainer:
    """Knows what it has sent. `intake` may change: a team has several servers."""

    def __init__(self, intake: Intake, life: Life) -> None:
        self.intake, self.life = intake, life
        self._after, self._sent = 0, dict[str, list[Object]]()

    def ship(self) -> None:
        path, run = str(self.life.path), self.life.path.name
        new = list(spool.missing(path, spool.names(path), self._sent, ""))
        objects = [*spool.gone(path, self._sent), *(object for object, _ in new)]
        for object, stretch in new:
            self.intake.put("p/1", run, object, b"".join(stretch.chunks()))
        self._after, _ = self.intake.ship("p/1", run, self._after, objects, lambda: None)
        self._sent = spool.held([*(part for parts in self._sent.values() for part in parts), *objects])
