"""A run in short: its row in the list, the tape, its headline, notes and configuration.

Door: one function per file, named after it. Each takes a store run and returns plain values.
"""
