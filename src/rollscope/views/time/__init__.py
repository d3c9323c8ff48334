"""Where the time of a run goes: seconds per step and operation, and the timeline as a Chrome trace.

Door: `times` (every time metric), `time_parts` (one step, for the Overview), `live_times`,
`chrome`. `spans` is the one reader of spans behind the first three.
"""
