"""Push a run in processes that are killed: `killed_push.py LAKE RUN ROUNDS SEED SECONDS`.

Modules are imported once; each round forks, so that a kill hits the push and not its imports.
A push lives at most SECONDS. Prints how many rounds were killed in the middle.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

import duckdb  # noqa: F401
import pyarrow.compute  # noqa: F401

from rollscope.lake import place
from rollscope.lake.shipping.push import Pusher


def main(lake: str, run: str, rounds: int, seed: int, longest: float) -> int:
    chance, killed = random.Random(seed), 0
    for _ in range(rounds):
        child = os.fork()
        if not child:
            Pusher(place.read(lake), run).push()
            os._exit(0)
        time.sleep(chance.uniform(0.02, longest))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
    return killed


if __name__ == "__main__":
    print(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])))
