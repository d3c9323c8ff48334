"""What importers share: find the source of a path, gather rows, guess the framework, write the run.

Door: `importer` for `rollscope import`; `gather`, `guess` and `tables` for sources.
Promise: importing a file again adds only its new rows.
"""
