"""Full-text search over the samples of a run, newest steps first.

Promises: every sample that contains the phrase is a hit once; closing the iterator stops the search.
Door: `search`.
"""
