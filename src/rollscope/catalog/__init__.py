"""The catalogue: what is measured, what it means, and what frameworks call it. Needs only numpy.

`spec` defines an entry, `keys` the words of a batch; `families/` holds the entries, one file per
family; `partials/` are numbers that can still be merged; `compute/` runs every definition that a
batch supports; `names/` maps frameworks' names to entries, and `dialects/` holds those of the
frameworks that came later. `guidance` says what to watch; `evaluate` turns evaluation rows into
metrics.
"""
