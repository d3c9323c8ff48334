"""Rules of one's own: Python files that a person names, run in a process that can be ended.

Promises: a rule that raises, loops or eats memory costs itself alone. The other rules of its file
and all of ours speak, and the failure is a finding of its own. Door: `ask`; `child` is the program.
"""
