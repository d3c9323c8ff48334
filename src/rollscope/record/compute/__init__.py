"""What is too slow for the trainer's thread and for the drain: metrics of batches, evaluations, counters.

Promises: bounded memory; a batch that cannot be computed costs itself alone.
Door: `worker`, `batch`, `counters`, `all_ranks` (the one collective, asked for by name).
"""
