"""Evaluations of a run: what each task scored at each step, and whether two of them differ.

A task is the unit: rows of a repeat are averaged, then repeats of a task, then tasks. A failed
repeat has no score and is counted. Door: `sets` (read), `history` (over steps), `pairing` (two
evaluations), `gate` (several sets, for a decision).
"""
