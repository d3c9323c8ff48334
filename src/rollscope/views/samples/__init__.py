"""Questions about samples: the rollouts of a step, groups, prompts, filters, search, export.

Door: one file per question. Each takes a store run and returns plain values or Arrow rows.
"""
