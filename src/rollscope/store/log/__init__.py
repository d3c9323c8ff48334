"""The log of one process: framed, checksummed blocks, appended while the run goes on.

Promises: a block is in the file once or not at all; a reader gets every whole block and a report of
the rest. A training process imports this room and `schema`, and nothing else of the store: it needs
numpy alone. Door: `writer` (append), `scan` (read), `block` (encode and decode), `files` (names),
`frame` (damage).
"""
