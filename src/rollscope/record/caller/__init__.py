"""What runs on the trainer's thread: copy what could change, put it into the queue, return.

Promises: microseconds a call, no lock held for long, no disk, no network.
Door: `queue`, `value`, `handover`, `sample`, `batch`, `span`, `device`.
"""
