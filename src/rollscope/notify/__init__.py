"""Act on findings: tell people, once per onset and once on recovery, and ask a run to stop.

Promises: a notice is recorded on disk before it is sent, and a process that finds that record
does not send it again, also after a kill. A target that is down, slow or wrong delays no other
target, and its address and its password stand in no log, record or message.
Door: `target` (what a person writes), `notifier` (findings in, notices out), `stored` (what was
told so far), `stop` (requests to stop), `resume` (the checkpoint to go back to).
"""
