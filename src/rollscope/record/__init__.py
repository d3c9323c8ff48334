"""The recorder: it runs inside a training process and writes down what happens there.

Promises: no call waits for a disk or a network, no call raises into training, and every loss is
counted and reported.
Rooms are threads, so a line knows what it may touch: `caller` runs on the trainer's thread, `write`
on the drain's, `compute` on a worker's, `watch` on the watchers'. `about` records what a run was
made with.
Door: `start` (`rs.init`, `join`) and `run` (`Run`). `recorder` starts and stops the threads,
`identity` decides which run a process records into.
"""
