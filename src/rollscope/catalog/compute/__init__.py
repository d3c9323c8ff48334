"""`rs.compute`: from a batch in any layout to a partial per metric.

Promises: values outside a mask are never read; tokens are read in blocks that fit a cache.
Door: `compute`, `batch` (reading and taking parts of a batch), `vocabulary` (what kernels replace).
"""
