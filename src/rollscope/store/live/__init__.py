"""Logs that are still growing, decoded as they grow.

Promises: a second look decodes only the new bytes; an answer equals the one after sealing.
Door: `tail` (one log), `metrics` (its numbers), `wide` (calls with the same names), `table_block`.
"""
