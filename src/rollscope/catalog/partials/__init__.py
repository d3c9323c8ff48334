"""Numbers that can still be merged: the reduction is the type.

Promises: `+` is associative; parts merge to the whole; a partial without data is NaN.
Door: `partial` (base class, registry and common kinds), a module per larger kind, and `ops`, the
array functions of definitions. `kind_of` imports a larger kind the first time its word is read.
"""
