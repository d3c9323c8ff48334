"""The resources of the API, one file each: a `router` with its handlers.

A handler parses the request, asks a view, and replies.
"""
