"""Sealing and compaction: logs become Parquet sets, small sets become one. Runs in a process of its own.

Promises: a set appears whole or not at all; a log is removed only when a set holds its bytes.
Door: `python -m rollscope.store.seal RUN_DIR`, `logs.seal`, `compact.compact`, `publish`.
"""
