"""The drain: one thread empties the queue, encodes blocks, appends them to the log, and feeds the sinks.

Promises: a full or dead disk keeps rows in memory and tries again; a sink that hangs harms nobody else.
Door: `drain`, `log_files` (the process's logs), `keeper` (samples), `fanout` (sinks), `steps` (open steps).
"""
