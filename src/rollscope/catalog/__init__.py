"""The catalogue: what is measured, what it means, and what everybody calls it. Needs numpy alone.

`spec` says what an entry is; `families/` holds the entries, one family a file; `partials/` are numbers that can
still be merged; `compute/` runs every definition a batch supports; `names/` maps frameworks' names to entries.
`guidance` says what to watch; `evaluate` turns evaluation rows into metrics.
"""
