"""Numbers that can still be merged: the reduction is the type.

Promises: `+` is associative; parts merge to the whole; no data is NaN.
Door: `partial` (the types everybody uses); the larger kinds register themselves when one is first met.
"""
