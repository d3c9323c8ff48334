"""Who waits for whom: what a step's wall time is made of, and what a change would save.

Door: `answer` (one step) and `levers` (what a change would save). Behind them: `rows` reads spans,
`clocks` puts the clocks of several hosts together, `window` is a step, `segments` makes tracks of
lanes, `graph` says what had to end before what, `path` walks back through it, `waits` and `shares`
name the rest, `plan` is the graph ready to be played again, and `simulate` plays it.
"""
