"""Frameworks' names for our entries, and our names for theirs.

Promises: a name resolves to one entry, or raises an error that lists the candidates.
Door: `resolve` (name to entry), `rename` (our names to a framework's), `match` (what a name
resolves to), `dialect`, `operations` (stages of a step), `published` (names in the guides).
"""
