"""Compute metrics of the catalogue again from the samples that runs recorded.

A metric that was added or changed gets its series over everything ever recorded, by the same
functions that compute it in a training. Samples of a step are a block; a block gives partials, on
processes here or on Ray, and partials of a step merge. The result is kept beside what was recorded,
as `recomputed/NAME`, and never over it. A second call computes only steps that are new, or all if a
definition has changed.

    batches    the samples of a step as the batches that the catalogue reads
    one_block  the partials of one block, in a process of its own
    work       every block of a run: retried, counted, written
"""
