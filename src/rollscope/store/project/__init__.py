"""What people say about their runs, kept in one append-only log beside them: `project.jsonl`.

Boards, saved views, tags, new names, the archive, the baseline, thresholds, stars and labels of
samples: each is an entry with an author and a time, and each can be undone. `kinds` lists what an
entry may say, `entry` reads and writes a line, `append` adds lines so that none is lost, `log` is
the door, `marks` is what the log says about runs, `sample_marks` about samples, and `deleted` is
the bin.
"""
