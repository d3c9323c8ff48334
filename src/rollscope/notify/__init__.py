"""Tell people about findings: by webhook, e-mail or a command, once per onset, once on recovery.

Promises: a notice is recorded on disk before it is sent, and whoever finds that record does not
send it again, also after a kill. A target that is down, slow or wrong delays no other target, and
its address and its password stand in no log, record or message.
Door: `target` (what a person writes), `notifier` (findings in, notices out), `stored` (what was
told so far).
"""
