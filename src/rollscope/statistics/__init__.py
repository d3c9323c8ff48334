"""Is a difference more than noise? Intervals, tests and power, as functions of arrays.

The unit is what was drawn independently: a task of an evaluation, or a run of a group of seeds.
Repeats of a task are averaged before they come here. Tasks that share a source form a cluster, and
then clusters are the unit. Nothing here reads a run. Too little data gives NaN, never a number.
"""
