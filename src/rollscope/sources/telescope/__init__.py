"""Telescope's event archives and its UI's DuckDB file: the same tables in two containers.

Archives are `events/*.zip` and `steps/*.zip`, Parquet tables in a zip; all archives below the
folder of a run are one run. Imported are samples (kept, discarded, cancelled) with turns and tool
calls, trainer spans, step metrics, host and engine metrics. Telescope rewrites an archive while it
grows, and repeats rows in others: rows are identified by their ids and taken once.
"""

from .files import recognises, rows

NAMES = ("telescope",)
__all__ = ["NAMES", "recognises", "rows"]
