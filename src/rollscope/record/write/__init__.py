"""The drain: one thread empties the queue, appends encoded blocks to the log, and feeds the sinks.

Promises: while the disk is full or gone, rows stay in memory and are written later; a sink that
hangs harms neither the log nor the other sinks.
Door: `drain`, `log_files` (this process's logs), `keeper` (samples), `fanout` (sinks), `steps`
(open steps), `evaluation` (rows of `log_eval`).
"""
