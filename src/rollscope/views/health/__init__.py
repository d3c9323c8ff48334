"""Is a run healthy? The status of each vital sign, and the verdict over everything that is known.

Promises: a status is earned against a reference that it names; without one it is `none`. The
verdict contradicts no status, no finding and no state of the run. Door: `report` (all of it for a
run), `vitals` (which series), `verdict` (from a typed summary), `status` (of one series).
"""
