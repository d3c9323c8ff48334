"""Scanners: one Python file that reads samples and gives each a number or a word.

    from rollscope.scan import scanner

    @scanner(needs=["completion"])
    def refusal(samples):
        return ["I cannot" in sample["completion"] for sample in samples]

`rollscope scan FILE RUN...` runs it over blocks of samples, in processes here or on Ray. Results
are rows of the table `scans`: Rollouts filters by them (`scan/refusal=1`), and `scan/refusal/mean`
is a series like any other. A second scan reads only samples that are new. Doors: `scanner` to write
one, `work.scan` to run it.

    scanner    what a file defines, and what it may return
    blocks     samples that are not scanned yet, cut where steps end
    one_block  one block, in a process of its own
    job        what is done with a block
    here, ray  where blocks are run
    work       all blocks of a run: retried, counted, written
"""

from __future__ import annotations

from .scanner import scanner

__all__ = ["scanner"]
