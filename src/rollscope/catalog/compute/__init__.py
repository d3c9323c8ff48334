"""`rs.compute`: from a batch in any layout to a partial per metric.

Promises: values outside a mask are never read; tokens are read in blocks that fit a cache.
Door: `compute`, `subset` (some samples of a batch), `inputs` (parameters of definitions),
`vocabulary` (functions that kernels replace).
"""
