"""What a server over a lake needs beside the runs: its tokens, and what trainers send it.

`tokens` finds the book of a lake, `postgres_book` keeps one in PostgreSQL, which `postgres` talks
to. `worker` starts a process that ships and looks at the lake; `child` is its program. There
`intake` ships runs that were sent, from `copies` of their folders, which `bring` makes of objects
that were `received`, within `quotas`, and commits `together` what waits; `team` reads `team.toml`.
Servers hold nothing that lasts, so any number of them agree.
"""
