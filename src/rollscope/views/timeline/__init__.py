"""A run's spans as lanes and as a graph: who waited for whom, and what a step waited for.

Door: `window` (a step), `path` (its critical path), `waits` and `shares` (the rest of it),
`picture`, `span`, `strips` and `flight` (for a page). Behind them: `rows` reads spans, `clocks`
puts the clocks of several hosts together, `segments` makes tracks of lanes, `slots` knows what
a request consisted of, `phases` what a name means, and `graph` what had to end before what.
"""
