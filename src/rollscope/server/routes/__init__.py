"""The resources of the API, one file each: a `router` with its handlers."""
