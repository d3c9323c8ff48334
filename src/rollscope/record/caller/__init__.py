"""The trainer's thread: copy what could change, put it into the queue, return.

Promises: a call takes microseconds, holds no lock for long, and touches neither disk nor network.
Door: `queue`, `numbers`, `row_format`, `value`, `handover`, `sample`, `batch`, `span`, `device`.
"""
