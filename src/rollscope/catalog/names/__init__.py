"""Everybody's names for our entries, and back: dialects, patterns, versions.

Promises: one name resolves to one entry, or to an error that lists the candidates.
Door: `dialects`, `operations` (stages of a step), `published` (names in the guides).
"""
