"""Sealing and compaction: logs become Parquet sets, and small sets become one.

Runs in a process of its own. Promises: a set appears whole or not at all; a log is removed only
when a set has its bytes. Door: `python -m rollscope.store.seal RUN_DIR`, `logs.seal`,
`compact.compact`, `leave_out`, `publish`.
"""
