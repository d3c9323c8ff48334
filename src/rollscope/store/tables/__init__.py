"""The tables of a run as Arrow and as SQL: samples, spans, turns, evaluations, notes, statistics.

Promises: rows with one key become one row; rows of abandoned attempts are left out; SQL only reads.
Door: `tables`, `sample_rows`, `rollups`, `clocks`, `sql`, `sql_views`.
"""
