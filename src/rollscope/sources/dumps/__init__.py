"""What the sources of rollout dumps share: rows of a file become samples, turns and spans.

A framework's module says which files are its own, which run they belong to, and what a row means.
"""
