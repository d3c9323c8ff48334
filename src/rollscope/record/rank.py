"""Which rank of a launch this process is, as its launcher says.

torchrun sets RANK and WORLD_SIZE; Slurm's `srun` and MPI's `mpirun` have names of their own. What
is set wrongly is not used, and said.
"""

from __future__ import annotations

import os
from collections.abc import Callable

MOST = 1 << 31  # processes of a launch; more is a mistake
# The rank, and of how many. Slurm sets the second name for `srun` alone: a batch script has none.
_SETS = (
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
)
# Ray started by `srun` hands on what Slurm said of its node, which says nothing about a worker.
_RAY = ("RAY_JOB_ID", "RAY_RAYLET_PID")
NAMES = (*(name for names in _SETS for name in names), "LOCAL_RANK", "SLURM_LOCALID")


def of_launch(say: Callable[[str], None]) -> tuple[int, int]:
    """The rank and the number of ranks, whether they fit or not: 0 and 1 without a launcher."""
    rank, size = _names()
    return _number(rank, 0, say), _number(size, 1, say)


def launched(say: Callable[[str], None]) -> tuple[int, int]:
    """The shard and how many there are: 0 of 1 if the launcher says nothing that can be."""
    rank, size = of_launch(say)
    if 0 <= rank < size:
        return rank, size
    say(f"rank {rank} is not below the number of ranks, {size}; recording as shard 0 of 1")
    return 0, 1


def _names() -> tuple[str, str]:
    """The variables of the launcher that started this process."""
    if os.environ.get("RANK") or any(os.environ.get(name) for name in _RAY):
        return _SETS[0]
    return next((names for names in _SETS[1:] if all(os.environ.get(name) for name in names)), _SETS[0])


def _number(name: str, least: int, say: Callable[[str], None]) -> int:
    word = os.environ.get(name) or str(least)
    try:
        number = int(word)
    except ValueError:
        number = -1
    if not least <= number <= MOST:
        say(f"{name}={word[:40]!r} is not a number from {least} to {MOST}; {least} is used")
        return least
    return number
