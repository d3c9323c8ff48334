"""Full-text search over the samples of a run, newest steps first.

Promises: every sample that holds the phrase is found once; closing the iterator stops the search.
Door: `search`.
"""
