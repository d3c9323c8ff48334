"""Sealed sets, read: Parquet with checksums of ours, a table of names, and a pyramid of buckets.

Promises: only bytes that pass their checksum are decoded; a row group that fails is reported and left out.
Door: `reader` (one set), `select` (which sets count), `manifest` (what a set holds), `name_table`, `metric_table`.
"""
