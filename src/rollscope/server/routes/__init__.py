"""The resources of the API, one file each: a `router` with its handlers.

A handler parses the request, asks a view, and replies. `project/` holds what is asked of all
runs, `run/` what is asked of one as a whole, `metrics/` its numbers, `samples/` its rollouts and
evaluations, `tables/` questions in SQL and files to take away.
"""
