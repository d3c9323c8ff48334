"""Questions over a run: statistics per step, groups, times, names, charts, why a number moved.

A view takes a `store` run and returns plain values. It knows the catalogue, not HTTP. Door: `run`
(`rs.open`); then one file per question. Rooms: `charts`, `compare`, `evals`, `health`, `summary`,
`samples`, `time`, `why`.
"""
