"""Files that grow: which of them changed since the last look, and when to look again.

Door: `watch` for commands, `followed` for the importer.
Promise: what has not changed is not read again, and a fault is said once.
"""
