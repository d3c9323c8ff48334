"""Sealed sets: Parquet files with our checksums, a table of names, and a pyramid of buckets.

Promises: only bytes that pass their checksum are decoded; a row group that fails is reported and
left out. Door: `reader` (one set), `file` (one Parquet file of it), `select` (which sets count),
`manifest`, `name_table`, `pyramid`, `metric_table`, `parquet`, `checksum`, `repeated_ids`.
"""
