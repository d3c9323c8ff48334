"""List the runs of a folder, thousands of them, without opening those that are over.

One look at the root finds the runs (`entries`). Rows of runs that are over are kept in files beside
the runs (`index`), each with the marks of the folder it was read from; a row whose marks differ is
not used. `records` lists runs newest first, `readers` keeps a few of them open, and `unreadable`
says in a sentence why a run cannot be listed. A run's failure stays that run's.
"""
