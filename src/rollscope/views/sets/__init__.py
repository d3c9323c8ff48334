"""Samples that people marked: those of a run that pass filter words, and a set to take away.

Door: `marked.marked_samples` lists them, `collected.collected` reads a set over its runs,
`formats.exported` writes it: JSON lines, CSV, Parquet, an Inspect log, a folder for `datasets`.
"""
