"""The recorder: it runs inside a training process and writes down what happens there.

Promises: no call raises into training, and every loss is counted and reported. No call waits for a
disk or a network, but for those that are made for waiting: `flush`, `finish` and `reduce`.
A room is named for the thread that runs it: `caller` for the trainer's, `write` for the drain's,
`compute` for a worker's, `watch` for the watchers'. Exceptions: `compute/jobs` and `Worker.put`
take work on the trainer's thread, and `flush`, `finish` and `reduce` do theirs there. `about`
records what a run was made with. docs/recording.md says what happens when a disk fails or fills up.
Door: `start` (`rs.init`, `join`) and `run` (`Run`). `recorder` starts and stops the threads,
`identity` decides which run a process records into.
"""
