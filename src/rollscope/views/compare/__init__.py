"""Runs side by side: what differs, from which step on, and which is better beyond noise.

Runs that differ in nothing but their seed are replicas of one configuration: a run is the unit.
Door: `settings` (what differs), `partings` (where they part), `replicas` (groups of seeds),
`outcome` (which is better), `ablation` (which change mattered), `sentence` (all of it in words).
For the page: `arranged` (which runs stand together), `curves` (groups on one axis), `tasks` (who
solved which), `shapes`.
"""
