"""The tables of a run as Arrow and as SQL: samples, spans, turns, evaluations, notes, and statistics per step.

Promises: rows about one thing become one row; abandoned attempts are left out; SQL can only read.
Door: `tables`, `sample_rows`, `rollups`, `clocks`, `sql`, `sql_views`.
"""
