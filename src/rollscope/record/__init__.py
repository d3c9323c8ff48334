"""The recorder: what lives inside somebody's training loop.

Promises: no call blocks on disk or network, none raises into training; what cannot be kept is counted and said.
Rooms are threads, so a line knows what it may touch: `caller` runs on the trainer's thread, `write` on the
drain's, `compute` on a worker's, `watch` on watchers'; `about` says what the run was made with.
Door: `run` (`rs.init`, `Run`). `recorder` starts and stops the parts; `identity` says which run a process belongs to.
"""
