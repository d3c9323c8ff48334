"""Rows of files in a run that is there: what of them the run has already, and whose they are.

Door: `into` names the run, `guest` takes the rows of the importer.
Promise: the run keeps what it has, and no row of it is told twice.
"""
