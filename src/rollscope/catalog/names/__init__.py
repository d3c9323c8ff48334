"""Frameworks' names for our entries, and our names for theirs.

Promises: a name resolves to one entry, or raises an error that lists the candidates; on a run it
means one series, in the unit of the name.
Door: `find` (name to a series of a run), `held` (the names of a run), `resolve` (name to entry),
`rename` (our names to a framework's), `match` (what a name resolves to), `spoken` (the dialect of a
run), `units`, `dialect`, `operations` (stages of a step), `published` (names in the guides).
"""
