"""What a server over a lake needs beside the runs: its tokens, in the catalogue.

`tokens` finds the book of a lake, `postgres_book` keeps one in PostgreSQL, which `postgres` talks
to. Servers hold nothing of their own, so any number of them agree.
"""
