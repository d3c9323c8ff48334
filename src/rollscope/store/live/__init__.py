"""Logs that still grow, decoded as they grow.

Promises: a second look decodes only the new bytes; an answer equals the one after sealing; readers
of one log keep its rows once.
Door: `tail` (one log), `metrics` (its numbers), `wide` (calls with the same names), `scope`,
`table_block`.
"""
