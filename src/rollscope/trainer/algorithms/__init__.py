"""Policy optimisation: each algorithm is one file, a page to read.

`advantages` and `losses` are pure functions of tensors; the other files put them together.
"""
