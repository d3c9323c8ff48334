"""One metric of a run, or many on one grid: from the pyramid where it is fine enough, from rows otherwise.

Promises: one merged value per step; no spike is sampled away.
Door: `metric_series` (one), `grid` (many), `same_shape` (names that many ranks log alike).
"""
