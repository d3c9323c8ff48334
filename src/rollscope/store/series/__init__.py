"""Series: one metric of a run, many on one grid, and the list of all names.

Promises: one merged value per step; buckets keep every spike.
Door: `metric_series` (one), `grid` (many), `metric_list` (all names), `same_shape` (names that many
ranks log in the same calls).
"""
