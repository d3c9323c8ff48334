"""The list of runs, thousands of them: rows, findings and last values of each.

What is known of a run that is over is kept in the index beside the runs, so that an answer opens
few runs; the rest is read in the background, newest first.
"""
