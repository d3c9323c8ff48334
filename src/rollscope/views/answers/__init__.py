"""Answers from a timeline: of a step, of a range of steps, and of what a change would save.

Door: `answer` (one step), `stretch` (a range of steps, and what changed in it), `signs` (what rules
ask), `levers` (what a change would save). Behind the last: `plan` is the recorded graph, `simulate`
plays it again, `servers` are its engines.
"""
