"""Why a number moved between two steps: which groups and which kinds of samples carry the change.

Promises: the parts add up to the change. Door: `run.why_of`; `leading` shortens it for the page.
"""
