"""Ship one run: its files as objects, and the rows that the lake lacks.

Promises: a ship that is killed adds nothing, and one that is repeated adds nothing again.
Door: `push` (until the lake lacks nothing), `through_server` (the same for who holds no keys of the
lake; its `requests` carry a token), `follow` (until the run is over).
"""
