"""What live integrations share: listening to a framework's functions without disturbing it.

Promises: nothing here raises into the program; a failure is printed once on stderr.
Door: `quiet` (guard a function), `wrap` (call ours after or around theirs), `values` (their values
as numbers), `text` (decode token ids), `behind` (work that a trainer does not wait for).
"""
