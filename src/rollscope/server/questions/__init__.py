"""Heavy questions, each in a process that can be stopped: SQL, and samples to export.

Door: `asking` for a handler, `turns` for one that searches, `queues` for who starts the server,
`worker` for the command line. `child` is the program of the process, `answers` is what it can do,
`frames` is how the two talk over pipes.

Promises: a question has limits of memory, time and size that the system enforces, and going beyond
costs that question alone, with a sentence. Questions of one client wait for each other, not for
those of others. A question whose client has left is stopped.
"""
