"""Full-text search over the samples of a run, newest steps first.

Promises: every sample that contains the phrase is found once; close the iterator to stop.
Arrow decodes the text and libc's memmem finds the phrase. `bench/search.py` measures it beside
DuckDB's `contains` (about as fast, and a third of the speed when case is ignored) and pyarrow's
`match_substring` (a quarter of the speed).
Door: `search`.
"""
