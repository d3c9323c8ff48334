"""Runs that a tracker holds on its server, read by its own library with the user's own login.

`address` reads what the user typed, `wandb` gives the items of a run, `fetch` stores them. Unlike
files they are read in this process: the tracker's library needs the network and the user's key.
"""
