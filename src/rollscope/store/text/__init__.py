"""Full-text search over the samples of a run, newest steps first.

Promises: every sample that contains the phrase is found once; close the iterator to stop.
Door: `search`.
"""
