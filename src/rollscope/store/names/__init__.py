"""Where the names of a run lie: what each file knows of them, and where to look for each."""
