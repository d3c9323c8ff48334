"""Work too slow for the trainer's thread and for the drain: batches, evaluations, counters.

The calls of a step are joined sample by sample, so that every sample counts once however its facts
are split over calls. Promises: memory is bounded, and a batch that cannot be computed loses only
itself.
Door: `jobs`, `worker`, `counters`, `all_ranks` (`run.reduce`, the only collective).
"""
